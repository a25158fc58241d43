//! Running handlers: their start, and their settlement when they end.

use std::{sync::Arc, time::Duration};

use queue_core::{Disposition, Error, ErrorKind, Running, Settlement, limits};
use tokio::time::Instant;

use super::{
    Runner,
    in_flight::{LeasedBody, Pending},
};
use crate::{
    Backoff, Context, Failure, Remedy, Verdict,
    backoff::seed,
    context::LeaseExtender,
    event::Event,
    guard::{AbnormalEnd, guarded_call},
    handler::Terms,
    handler_result::HandlerResult,
    lease::Lease,
    task_message::EndReporter,
};

/// One call of a handler, in a task of its own.
pub(super) struct Job {
    pub(super) queue: usize,
    pub(super) leases: Vec<Arc<Lease>>,
    /// The runner drops it to cut the handler off. The task reports when it has ended.
    pub(super) task: Option<Running>,
    /// The time to cut the handler off, once it has been told to stop.
    pub(super) cut_at: Option<Instant>,
}

impl Runner {
    /// Starts a handler for these messages.
    pub(super) fn start(&mut self, index: usize, messages: Vec<LeasedBody>) {
        self.last_job += 1;
        let job = self.last_job;
        let served = &mut self.queues[index];
        let lease_time = served.terms.lease;
        // Only a batch handler gets several messages, and only a router tells types of jobs apart.
        let job_type = messages.first().and_then(|first| first.lease.job.as_ref());
        let own = job_type.and_then(|job| job.timeout());
        let limit = own.or(served.terms.timeout);
        let cut_off = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut leases = Vec::with_capacity(messages.len());
        let mut contents = Vec::with_capacity(messages.len());
        for (entry, LeasedBody { body, lease }) in messages.into_iter().enumerate() {
            let extender = LeaseExtender::Worker {
                key: (job, entry),
                notes: self.half_way.clone(),
            };
            let own = Arc::clone(&lease);
            let context = Context::new(own, Arc::clone(&served.scope), cut_off, extender);
            contents.push((body, context));
            self.events
                .emit(&served.name, &Event::Started { lease: &lease });
            served.heartbeat_due = earlier(served.heartbeat_due, lease.heartbeat_at(lease_time));
            self.watch_due = earlier(self.watch_due, Some(lease.deadline()));
            leases.push(lease);
        }
        let layers = self.settings.layers.clone();
        let terms = Terms { limit, layers };
        let handling = Arc::clone(&served.handler).handle(contents, terms);
        #[cfg(feature = "tracing")]
        let handling =
            crate::tracing::enclose(&served.name, &leases, self.settings.link.clone(), handling);
        let reporter = EndReporter::new(job, self.events.now, self.note_sender.clone());
        let task = self
            .settings
            .spawn
            .spawn(Box::pin(reporter.after(handling)));
        served.jobs += 1;
        let started = Job {
            queue: index,
            leases,
            task: Some(task),
            cut_at: None,
        };
        self.jobs.insert(job, started);
    }

    /// Settles the messages of a handler whose task is over.
    pub(super) fn ended(
        &mut self,
        job: u64,
        endings: Option<&[HandlerResult]>,
        panic: Option<String>,
        took: Duration,
        now: Instant,
    ) {
        let Some(job) = self.jobs.remove(&job) else {
            return;
        };
        // A moving average over some sixteen jobs.
        self.average_time = (self.average_time * 15 + took) / 16;
        self.freed.get_or_insert(now);
        self.queues[job.queue].jobs -= 1;
        let panicked = panic.map(|panic| HandlerResult::Abnormal(AbnormalEnd::Panicked(panic)));
        let cut_off = job.task.is_none();
        for (entry, lease) in job.leases.iter().enumerate() {
            let ending = endings.and_then(|endings| endings.get(entry));
            let ending = ending.or(panicked.as_ref());
            let name = &self.queues[job.queue].name;
            self.events.emit(
                name,
                &Event::Ended {
                    lease,
                    ending,
                    cut_off,
                    took,
                },
            );
            let is_lost = lease.is_lost();
            planted!(BatchLostWithOneLease => is_lost = job.leases.iter().any(|lease| lease.is_lost()));
            if is_lost {
                self.events.emit(name, &Event::Discarded { lease });
                continue;
            }
            let (settlement, reason) = self.settlement(&job, lease, ending);
            if settlement.disposition.is_ack() {
                let names = lease.unused_steps();
                if !names.is_empty() {
                    let names = &names[..];
                    self.events.emit(name, &Event::StepsLeft { lease, names });
                }
            }
            self.queues[job.queue].pending.push_back(Pending {
                settlement,
                reason,
                lease: Arc::clone(lease),
                since: now,
                doubtful: false,
                burial: None,
            });
        }
    }

    /// A handled message's settlement; and the reason, if the attempt failed.
    fn settlement(
        &self,
        job: &Job,
        lease: &Lease,
        ending: Option<&HandlerResult>,
    ) -> (Settlement, Option<String>) {
        let receipt = lease.receipt;
        let failure = match ending {
            // The attempt is refunded even if the drop panicked, because the handler was not allowed to
            // finish.
            None | Some(HandlerResult::Abnormal(_)) if job.task.is_none() => {
                return (given_back(lease, Disposition::Release), None);
            }
            None => Some(Failure::new("its task was stopped from outside")),
            Some(ending) => ending.failure(),
        };
        let Some(failure) = failure else {
            let kept = self.queues[job.queue].terms.results.as_ref();
            let settlement = match (ending, kept) {
                (Some(HandlerResult::Returned(Verdict::DoneWith(result))), Some(kept)) => {
                    Settlement::ack_with(receipt, kept.with(result.as_bytes().clone()))
                }
                _ => Settlement::ack(receipt),
            };
            return (settlement, None);
        };
        let buries = failure.remedy() == Remedy::Bury;
        planted!(StopReleasesTheBuried => buries = false);
        let remedy = match ending {
            Some(HandlerResult::Undecodable(_)) if self.buries_undecodable(job.queue, lease) => {
                Remedy::Bury
            }
            // A handler that stopped on request has not failed.
            Some(HandlerResult::Returned(_)) if lease.stopped().is_some() && !buries => {
                return (given_back(lease, Disposition::Release), None);
            }
            _ => failure.remedy(),
        };
        let disposition = self.disposition(job.queue, lease, remedy, &failure);
        (given_back(lease, disposition), Some(reason(&failure)))
    }

    fn buries_undecodable(&self, queue: usize, lease: &Lease) -> bool {
        let own = lease.job.as_ref().and_then(|job| job.bury_undecodable());
        own.unwrap_or(self.queues[queue].terms.bury_undecodable)
    }

    fn disposition(
        &self,
        queue: usize,
        lease: &Lease,
        remedy: Remedy,
        failure: &Failure,
    ) -> Disposition {
        match remedy {
            Remedy::Backoff => {
                let own = self.settings.retry_seed();
                let seed = seed([own, lease.receipt.id.get(), u64::from(lease.attempt)]);
                let delay = self.delay(queue, lease, failure, seed);
                retry(delay, failure)
            }
            Remedy::Retry { delay } => retry(delay.min(limits::MAX_DELAY), failure),
            Remedy::Defer { delay } => Disposition::Defer {
                delay: delay.min(limits::MAX_DELAY),
            },
            Remedy::Bury => Disposition::Bury {
                reason: reason(failure),
            },
        }
    }

    /// The back-off's delay. If the user's rule panics, this takes the default, so that the message neither
    /// comes at once nor ends the worker.
    fn delay(&self, queue: usize, lease: &Lease, failure: &Failure, seed: u64) -> Duration {
        let served = &self.queues[queue];
        let own = lease.job.as_ref().and_then(|job| job.retry());
        let backoff = own.unwrap_or(&served.terms.retry);
        let rule = || backoff.delay(lease.attempt, failure, seed);
        guarded_call(rule).unwrap_or_else(|panic| {
            let message = format!("the rule of Backoff::custom panicked: {panic}");
            let error = Error::new(ErrorKind::Configuration, message);
            let error = &error;
            self.events
                .emit(&served.name, &Event::NoDelay { lease, error });
            Backoff::default().delay(lease.attempt, failure, seed)
        })
    }
}

/// A settlement that is no ack, with the state that the handler set.
fn given_back(lease: &Lease, disposition: Disposition) -> Settlement {
    let settlement = Settlement::new(lease.receipt, disposition);
    match lease.unstored_state() {
        Some(unstored) => settlement.with_state(unstored.state),
        None => settlement,
    }
}

fn retry(delay: Duration, failure: &Failure) -> Disposition {
    let reason = Some(reason(failure));
    Disposition::Retry { delay, reason }
}

/// The reason of a failed attempt, as in the log and the dead letters.
fn reason(failure: &Failure) -> String {
    failure.reason().to_owned()
}

/// The earlier of two optional times.
pub(super) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
