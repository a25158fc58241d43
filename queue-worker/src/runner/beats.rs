//! Heartbeats: extending the leases of handlers that run, many in one call.

use std::{
    sync::Arc,
    task::{Context as Poller, Poll},
    time::Duration,
};

use queue_core::{Error, Extended, Receipt, Result, limits};
use tokio::{sync::oneshot, time::Instant};

use super::{
    Runner,
    alarm::Alarm,
    feed::{Ask, Beat, Extension},
    jobs::earlier,
};
use crate::{
    Stop,
    event::{Event, Verb},
    lease::Lease,
};

impl Runner {
    /// A handler wants its lease extended.
    pub(super) fn asked(
        &mut self,
        job: u64,
        entry: usize,
        ttl: Duration,
        reply: oneshot::Sender<Result<()>>,
    ) {
        let Some(running) = self.jobs.get(&job) else {
            // The dropped reply says it.
            return;
        };
        let feed = &mut self.feeds[running.feed];
        feed.asks.push_back(Ask {
            job,
            entry,
            ttl: ttl.max(feed.terms.lease),
            reply,
        });
    }

    /// Sends the extensions that are due. Answers whether any were.
    pub(super) fn send_beats(&mut self, alarm: &mut Alarm) -> bool {
        let mut sent = false;
        for index in 0..self.feeds.len() {
            let feed = &self.feeds[index];
            if feed.beat.is_some() {
                continue;
            }
            let asked = !feed.asks.is_empty();
            let due = feed.beat_due.is_some_and(|due| alarm.has_come(due));
            let may_try = feed
                .beat_outage
                .until()
                .is_none_or(|until| alarm.has_come(until));
            if !may_try || !(asked || due) {
                continue;
            }
            // What is due goes first: a handler that asks again and again keeps nobody waiting.
            let (mut ttl, mut entries) = if due {
                self.due(index, alarm)
            } else {
                (Duration::ZERO, Vec::new())
            };
            if entries.is_empty() && asked {
                (ttl, entries) = self.asked_for(index);
            }
            sent |= self.send_beat(index, ttl, entries, alarm.now);
        }
        sent
    }

    /// Heartbeats that failed are of no account any more, since no handler is left to need them.
    pub(super) fn forget_beats(&mut self, index: usize, now: Instant) {
        let feed = &mut self.feeds[index];
        if let Some(since) = feed.beat_outage.succeeded() {
            let verb = Verb::Extend;
            let after = now.saturating_duration_since(since);
            self.events
                .emit(&feed.name, &Event::Recovered { verb, after });
        }
    }

    /// The handlers' wishes of one length.
    fn asked_for(&mut self, index: usize) -> (Duration, Vec<Extension>) {
        let feed = &mut self.feeds[index];
        let ttl = feed.asks.front().map_or(feed.terms.lease, |ask| ask.ttl);
        let mut entries = Vec::new();
        for ask in std::mem::take(&mut feed.asks) {
            if ask.ttl != ttl || entries.len() == limits::MAX_BATCH {
                feed.asks.push_back(ask);
                continue;
            }
            entries.push(Extension {
                job: ask.job,
                entry: ask.entry,
                reply: Some(ask.reply),
            });
        }
        (ttl, entries)
    }

    /// The leases whose time has come, and those whose time comes soon, so that they need no call
    /// of their own; and none, if it was not yet time.
    fn due(&mut self, index: usize, alarm: &mut Alarm) -> (Duration, Vec<Extension>) {
        let ttl = self.feeds[index].terms.lease;
        let soon = alarm.now + ttl / 6;
        let mut next = None;
        let mut entries = Vec::new();
        for (job, running) in self.jobs.iter().filter(|(_, job)| job.feed == index) {
            for (entry, lease) in running.leases.iter().enumerate() {
                let Some(at) = lease.beat_at(ttl) else {
                    continue;
                };
                next = earlier(next, Some(at));
                if at <= soon && entries.len() < limits::MAX_BATCH {
                    entries.push(Extension {
                        job: *job,
                        entry,
                        reply: None,
                    });
                }
            }
        }
        self.feeds[index].beat_due = next;
        if next.is_none_or(|next| !alarm.has_come(next)) {
            entries.clear();
        }
        (ttl, entries)
    }

    fn send_beat(
        &mut self,
        index: usize,
        ttl: Duration,
        mut entries: Vec<Extension>,
        now: Instant,
    ) -> bool {
        entries.retain_mut(|entry| self.lease(entry).is_some_and(|lease| !lease.is_lost()));
        let receipts: Vec<Receipt> = entries
            .iter()
            .filter_map(|entry| self.lease(entry))
            .map(|lease| lease.receipt)
            .collect();
        if receipts.is_empty() {
            return false;
        }
        let feed = &mut self.feeds[index];
        let queue = Arc::clone(&feed.queue);
        feed.beat = Some(Beat {
            future: Box::pin(async move { queue.extend(&receipts, ttl).await }),
            sent: now,
            ttl,
            entries,
        });
        self.events
            .emit(&feed.name, &Event::Called { verb: Verb::Extend });
        true
    }

    pub(super) fn poll_beat(&mut self, index: usize, cx: &mut Poller<'_>, now: Instant) -> bool {
        let Some(beat) = &mut self.feeds[index].beat else {
            return false;
        };
        let Poll::Ready(result) = beat.future.as_mut().poll(cx) else {
            return false;
        };
        let Some(beat) = self.feeds[index].beat.take() else {
            return false;
        };
        let result = match result {
            Ok(answers) if answers.len() < beat.entries.len() => Err(Error::unanswered()),
            result => result,
        };
        self.note_result(index, Verb::Extend, result.as_ref().err(), now);
        match result {
            Ok(answers) => self.extended(index, beat, answers, now),
            Err(error) => {
                for reply in beat.entries.into_iter().filter_map(|entry| entry.reply) {
                    // Whoever asked may have gone.
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
        // What is due next is found by looking.
        self.feeds[index].beat_due = Some(now);
        true
    }

    fn extended(&mut self, index: usize, beat: Beat, answers: Vec<Extended>, now: Instant) {
        let mut extended = 0;
        for (entry, answer) in beat.entries.into_iter().zip(answers) {
            // A job that ended meanwhile has settled its lease, which says nothing of a loss.
            let Some(lease) = self.lease(&entry).cloned() else {
                continue;
            };
            let said = if answer == Extended::Extended {
                extended += 1;
                lease.extended(beat.sent, beat.ttl);
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
        let name = &self.feeds[index].name;
        self.events
            .emit(name, &Event::Extended { leases: extended });
    }

    /// A lease is lost: its handler is told at once, and is cut off if it does not stop.
    pub(super) fn lose(&mut self, job: u64, lease: &Lease, now: Instant) {
        let Some(running) = self.jobs.get_mut(&job) else {
            return;
        };
        if lease.is_lost() {
            return;
        }
        lease.tell(Stop::LeaseLost);
        if running.leases.iter().all(|lease| lease.is_lost()) {
            let cut_at = now + self.pool.cleanup;
            running.cut_at = earlier(running.cut_at, Some(cut_at));
            self.watch_due = earlier(self.watch_due, running.cut_at);
        }
        let name = &self.feeds[running.feed].name;
        let stop = Stop::LeaseLost;
        self.events.emit(name, &Event::Told { lease, stop });
    }

    fn lease(&self, extension: &Extension) -> Option<&Arc<Lease>> {
        self.jobs.get(&extension.job)?.leases.get(extension.entry)
    }
}
