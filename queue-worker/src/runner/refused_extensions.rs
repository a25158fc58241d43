//! Leases whose heartbeat the backend refused for good as one batch: they are extended one by one, so that a bad
//! extension harms no other.

use std::{collections::VecDeque, time::Duration};

use queue_core::Error;
use tokio::time::Instant;

use super::{
    Runner,
    in_flight::{ExtendedLease, Heartbeat},
};
use crate::event::{CallKind, Event, RefusedPart};

/// The leases of a refused heartbeat.
pub(super) struct ExtendingAlone {
    lease_time: Duration,
    left: VecDeque<ExtendedLease>,
    refused: Vec<(ExtendedLease, Error)>,
    /// Progress that the backend refused.
    progress: Vec<(ExtendedLease, Error)>,
    /// Whether the backend extended any.
    took_any: bool,
}

impl Runner {
    /// The next lease that is extended alone, if there is one, and for how long. Skips jobs that have ended.
    pub(super) fn next_extension_alone(
        &mut self,
        index: usize,
        now: Instant,
    ) -> Option<(Duration, ExtendedLease)> {
        loop {
            let alone = self.queues[index].extending_alone.as_mut()?;
            let lease_time = alone.lease_time;
            let Some(next) = alone.left.pop_front() else {
                // The jobs of all have ended.
                self.end_extending_alone(index, now);
                return None;
            };
            if self.lease(&next).is_some_and(|lease| !lease.is_lost()) {
                return Some((lease_time, next));
            }
        }
    }

    /// Notes that the backend extended a lease that was sent alone.
    pub(super) fn extended_alone(&mut self, index: usize) {
        if let Some(alone) = &mut self.queues[index].extending_alone {
            alone.took_any = true;
        }
    }

    /// Notes a heartbeat that failed: by a permanent error, each lease is extended alone, and then without its
    /// progress.
    pub(super) fn extension_refused(
        &mut self,
        index: usize,
        heartbeat: Heartbeat,
        error: &Error,
        now: Instant,
    ) {
        let Heartbeat {
            lease_time,
            mut entries,
            ..
        } = heartbeat;
        if self.queues[index].extending_alone.is_none() {
            self.note_result(index, CallKind::Extend, Some(error), now);
            let has_progress = entries.iter().any(|entry| entry.progress.is_some());
            if error.is_transient() || (entries.len() == 1 && !has_progress) {
                self.extension_failed(entries, error);
                return;
            }
            let served = &mut self.queues[index];
            served.heartbeat_outage.try_now();
            served.extending_alone = Some(ExtendingAlone {
                lease_time,
                left: entries.into(),
                refused: Vec::new(),
                progress: Vec::new(),
                took_any: false,
            });
            return;
        }
        if error.is_transient() {
            if let Some(alone) = &mut self.queues[index].extending_alone {
                entries.extend(alone.left.drain(..));
                alone.left = entries.into();
            }
            self.note_result(index, CallKind::Extend, Some(error), now);
            return;
        }
        // A state that is refused is its handler's to know, and no reason to give up the lease.
        let (states, entries): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.state.is_some());
        self.extension_failed(states, error);
        let Some(alone) = &mut self.queues[index].extending_alone else {
            return;
        };
        for mut entry in entries {
            let Some(progress) = entry.progress.take() else {
                alone.refused.push((entry, error.clone()));
                continue;
            };
            let refused = ExtendedLease {
                job: entry.job,
                entry: entry.entry,
                reply: None,
                progress: Some(progress),
                stores_state: false,
                state: None,
            };
            alone.progress.push((refused, error.clone()));
            let goes_on = true;
            planted!(ProgressCostsTheLease => goes_on = false);
            if goes_on {
                alone.left.push_front(entry);
            }
        }
    }

    /// Ends extending alone once nothing is left. A lease that the backend refused is not extended again, if the backend
    /// extended others; its handler learns of it when the lease is over. If the backend extended none, the fault is not
    /// the leases'.
    pub(super) fn end_extending_alone(&mut self, index: usize, now: Instant) {
        let alone = &mut self.queues[index].extending_alone;
        let Some(alone) = alone.take_if(|alone| alone.left.is_empty()) else {
            return;
        };
        let took_any = alone.took_any;
        planted!(LeavesOutAllLeases => took_any = true);
        let drops_progress = took_any;
        planted!(RepeatsRefusedProgress => drops_progress = false);
        for (entry, error) in alone.progress {
            match drops_progress {
                true => self.note_refused(index, &entry, RefusedPart::Progress, &error),
                false => self.extension_failed(vec![entry], &error),
            }
        }
        for (entry, error) in alone.refused {
            if took_any {
                self.note_refused(index, &entry, RefusedPart::Extension, &error);
                let lease = self.lease(&entry);
                planted!(ExtendsTheRefused => lease = None);
                if let Some(lease) = lease {
                    lease.hold_no_more();
                }
            } else {
                self.note_result(index, CallKind::Extend, Some(&error), now);
            }
            self.extension_failed(vec![entry], &error);
        }
    }

    /// Tells handlers that asked for an extension why there is none, and keeps progress for the next heartbeat.
    fn extension_failed(&self, entries: Vec<ExtendedLease>, error: &Error) {
        for mut entry in entries {
            if let (Some(progress), Some(lease)) = (entry.progress.take(), self.lease(&entry)) {
                lease.report_again(progress);
            }
            let reply = entry.reply;
            planted!(NoReply => reply = None);
            if let Some(reply) = reply {
                // The handler may have ended.
                let _ = reply.send(Err(error.clone()));
            }
        }
    }

    fn note_refused(&self, index: usize, entry: &ExtendedLease, part: RefusedPart, error: &Error) {
        if let Some(lease) = self.lease(entry) {
            let refused = Event::Refused { lease, part, error };
            self.events.emit(&self.queues[index].name, &refused);
        }
    }
}
