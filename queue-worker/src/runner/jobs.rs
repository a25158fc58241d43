//! Handlers that run: their start, and what is to be settled when they end.

use std::{sync::Arc, time::Duration};

use queue_core::{Delivery, Disposition, Error, ErrorKind, Running, Settlement, limits};
use tokio::time::Instant;

use super::{Runner, feed::Pending};
use crate::{
    Backoff, Context, Failure, Remedy, Verdict,
    backoff::seed,
    event::Event,
    guard::{Broken, guarded_call},
    handler::Ending,
    lease::Lease,
    note::Last,
};

/// One call of a handler, in a task of its own.
pub(super) struct Job {
    pub(super) feed: usize,
    pub(super) leases: Vec<Arc<Lease>>,
    /// Dropped to cut the handler off. The task reports when it has ended.
    pub(super) task: Option<Running>,
    /// When the handler is cut off, once it was told to stop.
    pub(super) cut_at: Option<Instant>,
}

impl Runner {
    /// Starts a handler for these deliveries, whose lease was asked for at `sent`.
    pub(super) fn start(&mut self, index: usize, deliveries: Vec<Delivery>, sent: Instant) {
        self.last_job += 1;
        let job = self.last_job;
        let feed = &mut self.feeds[index];
        let (ttl, limit, hold) = (feed.terms.lease, feed.terms.timeout, feed.terms.hold);
        let cut_off = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut leases = Vec::with_capacity(deliveries.len());
        let mut contents = Vec::with_capacity(deliveries.len());
        for (entry, delivery) in deliveries.into_iter().enumerate() {
            let lease = Lease::new(&delivery, sent, hold);
            let name = Arc::clone(&feed.name);
            let notes = self.notebook.clone();
            let context = Context::new(Arc::clone(&lease), name, cut_off, (job, entry), notes);
            contents.push((delivery.body, context));
            self.events
                .emit(&feed.name, &Event::Started { lease: &lease });
            feed.beat_due = earlier(feed.beat_due, lease.beat_at(ttl));
            self.watch_due = earlier(self.watch_due, Some(lease.deadline()));
            leases.push(lease);
        }
        let handling = Arc::clone(&feed.handler).handle(contents, limit);
        #[cfg(feature = "tracing")]
        let handling = self.events.enclose(&feed.name, &leases, handling);
        let last = Last::new(job, self.notebook.clone());
        let task = self.pool.spawn.spawn(Box::pin(last.after(handling)));
        feed.jobs += 1;
        let started = Job {
            feed: index,
            leases,
            task: Some(task),
            cut_at: None,
        };
        self.jobs.insert(job, started);
    }

    /// A handler's task is over.
    pub(super) fn ended(
        &mut self,
        job: u64,
        endings: Option<&[Ending]>,
        took: Duration,
        now: Instant,
    ) {
        let Some(job) = self.jobs.remove(&job) else {
            return;
        };
        // A moving average over some sixteen jobs.
        self.usual = (self.usual * 15 + took) / 16;
        self.freed.get_or_insert(now);
        self.feeds[job.feed].jobs -= 1;
        for (entry, lease) in job.leases.iter().enumerate() {
            let ending = endings.and_then(|endings| endings.get(entry));
            let name = &self.feeds[job.feed].name;
            self.events.emit(
                name,
                &Event::Ended {
                    lease,
                    ending,
                    took,
                },
            );
            if lease.is_lost() {
                self.events.emit(name, &Event::Discarded { lease });
                continue;
            }
            let disposition = self.disposition(&job, lease, ending);
            self.feeds[job.feed].pending.push_back(Pending {
                settlement: Settlement::new(lease.receipt, disposition),
                lease: Arc::clone(lease),
                since: now,
                doubtful: false,
            });
        }
    }

    fn disposition(&self, job: &Job, lease: &Lease, ending: Option<&Ending>) -> Disposition {
        match ending {
            Some(Ending::Said(Verdict::Done)) => Disposition::Ack,
            Some(Ending::Said(Verdict::Failed(failure))) => {
                // A handler that stopped because it was told to has not failed.
                if lease.told().is_some() && failure.remedy() != Remedy::Bury {
                    return Disposition::Release;
                }
                self.remedy(job.feed, lease, failure)
            }
            Some(Ending::Broken(broken)) => self.remedy(job.feed, lease, &broken.failure()),
            Some(Ending::Undecodable(reason)) => Disposition::Bury {
                reason: reason.clone(),
            },
            None if job.task.is_none() => Disposition::Release,
            None => {
                let stopped = Broken::Panicked("its task was stopped from outside".to_owned());
                self.remedy(job.feed, lease, &stopped.failure())
            }
        }
    }

    fn remedy(&self, feed: usize, lease: &Lease, failure: &Failure) -> Disposition {
        match failure.remedy() {
            Remedy::Backoff => {
                let own = self.pool.retry_seed();
                let seed = seed([own, lease.receipt.id.get(), u64::from(lease.attempt)]);
                let delay = self.delay(feed, lease, failure, seed);
                Disposition::Retry { delay }
            }
            Remedy::Retry { delay } => Disposition::Retry {
                delay: delay.min(limits::MAX_DELAY),
            },
            Remedy::Defer { delay } => Disposition::Defer {
                delay: delay.min(limits::MAX_DELAY),
            },
            Remedy::Bury => Disposition::Bury {
                reason: failure.reason().to_owned(),
            },
        }
    }

    /// What the back-off says. A rule of the user's that panics says nothing: then the default
    /// does, so that the message neither comes at once nor takes the worker down.
    fn delay(&self, feed: usize, lease: &Lease, failure: &Failure, seed: u64) -> Duration {
        let feed = &self.feeds[feed];
        let rule = || feed.terms.retry.delay(lease.attempt, failure, seed);
        guarded_call(rule).unwrap_or_else(|panic| {
            let message = format!("the rule of Backoff::custom panicked: {panic}");
            let error = Error::new(ErrorKind::Configuration, message);
            let error = &error;
            self.events
                .emit(&feed.name, &Event::NoDelay { lease, error });
            Backoff::default().delay(lease.attempt, failure, seed)
        })
    }
}

/// The earlier of two times, of which either may be missing.
pub(super) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
