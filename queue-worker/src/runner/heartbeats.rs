//! Heartbeats: they extend the leases of running handlers, many in one call.

use std::{
    sync::Arc,
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{Error, Extended, Extension, limits};
use tokio::time::Instant;

use super::{
    Runner,
    alarm::Alarm,
    calls::may_try,
    in_flight::{ExtendedLease, Heartbeat},
    jobs::earlier,
};
use crate::{
    Stop,
    event::{CallKind, Event},
    later::after,
    lease::Lease,
    task_message::ExtendRequest,
};

impl Runner {
    /// Queues a handler's request to extend its lease.
    pub(super) fn request_extension(&mut self, mut request: ExtendRequest) {
        let Some(running) = self.jobs.get(&request.job) else {
            // Dropping the reply's sender notifies the handler.
            return;
        };
        let served = &mut self.queues[running.queue];
        request.lease_time = request.lease_time.max(served.terms.lease);
        served.requests.push_back(request);
    }

    /// Has the first progress of a lease sent soon: it is due at once.
    pub(super) fn progress_reported(&mut self, job: u64, now: Instant) {
        if let Some(running) = self.jobs.get(&job) {
            self.queues[running.queue].heartbeat_due = Some(now);
        }
    }

    /// Sends the extensions that are due. Returns true if it sent any.
    pub(super) fn send_heartbeats(&mut self, alarm: &mut Alarm) -> bool {
        let mut sent = false;
        for index in 0..self.queues.len() {
            let served = &self.queues[index];
            if served.heartbeat.is_some() {
                continue;
            }
            let asked = !served.requests.is_empty();
            let due = served.heartbeat_due.is_some_and(|due| alarm.has_come(due));
            let alone = served.extending_alone.is_some();
            if !may_try(served.heartbeat_outage.until(), alarm) || !(asked || due || alone) {
                continue;
            }
            if let Some((lease_time, entry)) = self.next_extension_alone(index, alarm.now) {
                sent |= self.send_heartbeat(index, lease_time, vec![entry], alarm.now);
                continue;
            }
            // Due heartbeats go first, so that a handler that requests again and again delays no
            // other.
            let (mut lease_time, mut entries) = if due {
                self.due(index, alarm)
            } else {
                (Duration::ZERO, Vec::new())
            };
            if entries.is_empty() && asked {
                (lease_time, entries) = self.requested(index);
            }
            sent |= self.send_heartbeat(index, lease_time, entries, alarm.now);
        }
        sent
    }

    /// The handlers' requests of one length.
    fn requested(&mut self, index: usize) -> (Duration, Vec<ExtendedLease>) {
        let served = &mut self.queues[index];
        let lease_time = served
            .requests
            .front()
            .map_or(served.terms.lease, |request| request.lease_time);
        let mut entries = Vec::new();
        for request in std::mem::take(&mut served.requests) {
            if request.lease_time != lease_time || entries.len() == limits::MAX_BATCH {
                served.requests.push_back(request);
                continue;
            }
            entries.push(ExtendedLease {
                job: request.job,
                entry: request.entry,
                reply: Some(request.reply),
                progress: None,
                stores_state: request.stores_state,
                state: None,
            });
        }
        (lease_time, entries)
    }

    /// If any lease is due, the leases that are due now or soon, so that the latter need no call of their
    /// own. Otherwise none.
    fn due(&mut self, index: usize, alarm: &mut Alarm) -> (Duration, Vec<ExtendedLease>) {
        let lease_time = self.queues[index].terms.lease;
        let soon = alarm.now + lease_time / 6;
        let mut next = None;
        let mut entries = Vec::new();
        for (job, running) in self.jobs.iter().filter(|(_, job)| job.queue == index) {
            for (entry, lease) in running.leases.iter().enumerate() {
                let Some(at) = lease.heartbeat_at(lease_time) else {
                    continue;
                };
                next = earlier(next, Some(at));
                if at <= soon && entries.len() < limits::MAX_BATCH {
                    entries.push(ExtendedLease {
                        job: *job,
                        entry,
                        reply: None,
                        progress: None,
                        stores_state: false,
                        state: None,
                    });
                }
            }
        }
        self.queues[index].heartbeat_due = next;
        if next.is_none_or(|next| !alarm.has_come(next)) {
            entries.clear();
        }
        (lease_time, entries)
    }

    fn send_heartbeat(
        &mut self,
        index: usize,
        lease_time: Duration,
        mut entries: Vec<ExtendedLease>,
        now: Instant,
    ) -> bool {
        entries.retain_mut(|entry| self.lease(entry).is_some_and(|lease| !lease.is_lost()));
        if self.queues[index].extending_alone.is_none() {
            for entry in &mut entries {
                entry.progress = self.lease(entry).and_then(|lease| lease.take_progress());
            }
        }
        for entry in entries.iter_mut().filter(|entry| entry.stores_state) {
            entry.state = self.lease(entry).and_then(|lease| lease.unstored_state());
        }
        let extensions: Vec<Extension> = entries
            .iter()
            .filter_map(|entry| {
                let mut extension = Extension::new(self.lease(entry)?.receipt);
                extension.progress.clone_from(&entry.progress);
                extension.state = entry.state.as_ref().map(|unstored| unstored.state.clone());
                Some(extension)
            })
            .collect();
        if extensions.is_empty() {
            return false;
        }
        let served = &mut self.queues[index];
        let queue = Arc::clone(&served.queue);
        served.heartbeat = Some(Heartbeat {
            future: Box::pin(async move { queue.extend(&extensions, lease_time).await }),
            sent: now,
            lease_time,
            entries,
        });
        self.events.emit(
            &served.name,
            &Event::Called {
                verb: CallKind::Extend,
            },
        );
        true
    }

    pub(super) fn poll_heartbeat(
        &mut self,
        index: usize,
        cx: &mut Poller<'_>,
        now: Instant,
    ) -> bool {
        let Some(heartbeat) = &mut self.queues[index].heartbeat else {
            return false;
        };
        let Poll::Ready(result) = heartbeat.future.as_mut().poll(cx) else {
            return false;
        };
        let Some(heartbeat) = self.queues[index].heartbeat.take() else {
            return false;
        };
        let result = match result {
            Ok(answers) if answers.len() < heartbeat.entries.len() => Err(Error::unanswered()),
            result => result,
        };
        match result {
            Ok(answers) => {
                self.note_result(index, CallKind::Extend, None, now);
                self.extended_alone(index);
                self.extended(index, heartbeat, answers, now);
            }
            Err(error) => self.extension_refused(index, heartbeat, &error, now),
        }
        self.end_extending_alone(index, now);
        // The next pass computes the next due time.
        self.queues[index].heartbeat_due = Some(now);
        true
    }

    fn extended(
        &mut self,
        index: usize,
        heartbeat: Heartbeat,
        answers: Vec<Extended>,
        now: Instant,
    ) {
        let mut extended = 0;
        for (entry, answer) in heartbeat.entries.into_iter().zip(answers) {
            // A job that ended meanwhile has settled its lease; such a lease is not lost.
            let Some(lease) = self.lease(&entry).cloned() else {
                continue;
            };
            let said = if answer == Extended::Extended {
                extended += 1;
                lease.extended(heartbeat.sent, heartbeat.lease_time);
                if let Some(sent) = &entry.state {
                    lease.with_state(|state| state.stored(sent));
                }
                Ok(())
            } else {
                let lost = Err(Error::lease_lost(lease.receipt));
                self.lose(entry.job, &lease, now);
                lost
            };
            if let Some(reply) = entry.reply {
                let _ = reply.send(said);
            }
        }
        let name = &self.queues[index].name;
        self.events
            .emit(name, &Event::Extended { leases: extended });
    }

    /// Records a lost lease: tells its handler at once, and sets the time to cut it off.
    pub(super) fn lose(&mut self, job: u64, lease: &Lease, now: Instant) {
        let Some(running) = self.jobs.get_mut(&job) else {
            return;
        };
        if lease.is_lost() {
            return;
        }
        lease.stop(Stop::LeaseLost);
        if running.leases.iter().all(|lease| lease.is_lost()) {
            let cut_at = after(now, self.settings.cleanup);
            running.cut_at = earlier(running.cut_at, Some(cut_at));
            self.watch_due = earlier(self.watch_due, running.cut_at);
        }
        let name = &self.queues[running.queue].name;
        let stop = Stop::LeaseLost;
        self.events.emit(name, &Event::Told { lease, stop });
    }

    pub(super) fn lease(&self, extension: &ExtendedLease) -> Option<&Arc<Lease>> {
        self.jobs.get(&extension.job)?.leases.get(extension.entry)
    }
}
