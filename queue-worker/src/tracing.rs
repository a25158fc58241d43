//! A worker's [`tracing`] spans and events.
//!
//! **Spans.** Each handling of a message is a span `job`, in which its handler runs:
//!
//! | field | what it shows |
//! | --- | --- |
//! | `queue`, `id`, `attempt` | the message, its queue, and the attempt |
//! | `job` | the type of the job, if a [`Router`](crate::Router) handles it; `unknown` if it has no handler |
//! | `trace_id`, `parent_id` | the span of its push, in hexadecimal, if its headers have a [`TraceParent`](queue_core::TraceParent) |
//! | `outcome` | the handling's end: `done`, `failed`, `panicked`, `timed_out`, `undecodable` or `cut_off` |
//! | `reason` | why the handling failed, if it did: the failure's reason, `cannot decode: …`, `panicked: …` or `timed out after … ms` |
//!
//! A batch handler runs in one span `batch` (`queue`, `messages`), the parent of the messages' spans. A job
//! has no other parent in its own process: it does not belong to the span that started the worker.
//!
//! **Events** show what handlers do not see. Their target is `queue_kit`, and their level says how urgent
//! they are. `WARN` is for lost leases, dead messages, failing calls, refused results and attempts that fail in a new
//! way.
//! `INFO` is for other failed attempts, recoveries, the worker's phases (with the names of its `queues`), and
//! queues that an operator pauses and resumes. The first time that heartbeats are late by half a lease, because a
//! handler blocks the worker's thread, is a `WARN` as well. `DEBUG` is for other settlements. The worker sees a pause only
//! if it [samples](crate::Worker::sample_every).
//!
//! Each delivery's outcome is one event, with the fields `queue`, `id`, `attempt` and `outcome` (as in
//! [`Counts`](crate::Counts)), `job` if a router handles it, and `reason` if the attempt failed. It is emitted when the backend has
//! replied, and not before:
//!
//! | level | outcome | the event's text |
//! | --- | --- | --- |
//! | `DEBUG` | `acked`, `deferred`, `released` | `settled` |
//! | `WARN`, `INFO` or `DEBUG` | `retried` | `attempt 1 failed: connection refused` |
//! | `WARN` | `died` | `died after 5 attempts: connection refused` |
//! | `WARN` | `lost` | `not settled: the lease is lost` |
//! | `WARN` | `unconfirmed` | `settled or lost: the reply did not come` |
//! | `WARN` | `unsettled` | `not settled: no call got through in time` |
//! | `WARN` | `abandoned` | `not settled: the handler did not stop` |
//!
//! **Failed attempts** do not flood the log of a queue whose every message fails. Reasons that differ only in
//! numbers or in quoted values are of one kind. The first failure of a kind is a `WARN`, and again after an
//! hour without that kind. The next failures are `INFO`, ten in a minute. Further ones are `DEBUG`, and each
//! minute one `INFO` sums them up, with the fields `queue`, `failures` and `reason` (of the last failure):
//! `failed 590 more times in 60000 ms: connection refused`. A queue has 32 kinds; all others together are one
//! more.
//!
//! **An outage** is one `WARN` of each worker at its first failed call, and one `INFO` when every call has succeeded
//! again, with the number of the worker's `queues` that it hit. Further failures are `DEBUG`. Failures of kind `Unavailable`
//! belong to one outage if their errors name the same server ([`Error::server`]), or none.
//!
//! [`Error::server`]: queue_core::Error::server
//!
//! A message also dies if its lease expires on its last attempt. The backend buries it then, and no worker is
//! notified. The last worker's event was `lost`, `unsettled` or `abandoned`, if that worker lived.
//!
//! # From producer to handler
//!
//! The trace is in the header `traceparent` of the W3C. A producer sets it with
//! [`Headers::with_trace_parent`](queue_core::Headers::with_trace_parent). A handler finds it in
//! [`Context::headers`](crate::Context::headers), and the span shows it.
//!
//! A tracing system joins both ends if its bridge gets the parent before the span is entered. For this the
//! worker calls the function of [`Worker::link`](crate::Worker::link). With `tracing-opentelemetry`, for
//! example:
//!
//! ```text
//! struct Carrier<'a>(&'a Headers);
//! impl opentelemetry::propagation::Extractor for Carrier<'_> {
//!     fn get(&self, name: &str) -> Option<&str> { self.0.get(name) }
//!     fn keys(&self) -> Vec<&str> { self.0.iter().map(|(name, _)| name).collect() }
//! }
//!
//! // The producer: what its propagator writes are headers, `tracestate` included.
//! let mut carrier = HashMap::new();
//! propagator.inject_context(&Span::current().context(), &mut carrier);
//! jobs.message(&job).headers(carrier.into_iter().collect()).send().await?;
//!
//! // The worker:
//! worker.link(move |span, headers| {
//!     let _ = span.set_parent(propagator.extract(&Carrier(headers)));
//! })
//! ```

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ::tracing::{
    Instrument, Span, debug, error_span,
    field::{Empty, display},
    info, warn,
};
use queue_core::{Disposition, Error, Headers, Settled, in_millis, sanitized, with_sources};
use tokio::time::Instant;

use super::{
    Failure, Phase, Stop,
    event::{CallKind, Event, RefusedPart},
    failures::{FailureLog, FailureSummary, Failures},
    guard::AbnormalEnd,
    handler::Handling,
    handler_result::HandlerResult,
    lease::Lease,
    outages::{OutageEnd, Outages},
    outcome::DeliveryOutcome,
};

const TARGET: &str = "queue_kit";

/// The user's function, which gets each job's span and headers before the span is entered.
#[derive(Clone)]
pub(crate) struct Link(Arc<dyn Join>);

/// A name for a long type.
trait Join: Fn(&Span, &Headers) + Send + Sync {}

impl<F: Fn(&Span, &Headers) + Send + Sync> Join for F {}

impl Link {
    pub(crate) fn new(link: impl Fn(&Span, &Headers) + Send + Sync + 'static) -> Self {
        Self(Arc::new(link))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}

/// A job's handling, in its span.
pub(crate) fn enclose(
    queue: &Arc<str>,
    leases: &[Arc<Lease>],
    link: Option<Link>,
    handling: Handling,
) -> Handling {
    let (queue, leases) = (Arc::clone(queue), leases.to_vec());
    // The job's own task creates the spans, so that a panic of a subscriber or a link ends this job and not
    // the worker.
    Box::pin(async move {
        let batch = match &*leases {
            [_] => Span::none(),
            several => error_span!(
                target: TARGET,
                parent: None,
                "batch",
                queue = &*queue,
                messages = several.len(),
            ),
        };
        let spans = leases.iter().map(|lease| job(&queue, lease, &batch));
        let mut open = OpenSpans(spans.collect());
        if let Some(Link(link)) = link {
            for (span, lease) in open.0.iter().zip(&leases) {
                link(span, &lease.headers);
            }
        }
        let entered = match &*open.0 {
            [only] => only.clone(),
            _ => batch,
        };
        let endings = handling.instrument(entered).await;
        open.end(&endings);
        endings
    })
}

/// The span has an error's level, so that no filter by level leaves its events without their job.
fn job(queue: &Arc<str>, lease: &Lease, batch: &Span) -> Span {
    let span = error_span!(
        target: TARGET,
        parent: batch,
        "job",
        queue = &**queue,
        id = lease.receipt.id.get(),
        job = lease.job_name(),
        attempt = lease.attempt,
        trace_id = Empty,
        parent_id = Empty,
        outcome = Empty,
        reason = Empty,
    );
    if let Some(parent) = lease.headers.trace_parent() {
        span.record(
            "trace_id",
            display(format_args!("{:032x}", parent.trace_id())),
        );
        span.record(
            "parent_id",
            display(format_args!("{:016x}", parent.span_id())),
        );
    }
    span
}

/// Spans of jobs that have not ended yet.
struct OpenSpans(Vec<Span>);

impl OpenSpans {
    fn end(&mut self, endings: &[HandlerResult]) {
        for (span, ending) in self.0.drain(..).zip(endings) {
            span.record("outcome", ending.name());
            if let Some(failure) = ending.failure() {
                span.record("reason", failure.reason());
            }
        }
    }
}

impl Drop for OpenSpans {
    fn drop(&mut self) {
        for span in &self.0 {
            span.record("outcome", "cut_off");
        }
    }
}

/// The log of a worker: earlier lines decide the level of later ones.
#[derive(Debug, Default)]
pub(crate) struct EventLog(Mutex<LogState>);

#[derive(Debug, Default)]
struct LogState {
    failures: Failures,
    outages: Outages,
    /// The queues that were paused when they were last sampled.
    paused: BTreeSet<Arc<str>>,
    /// Whether late heartbeats were logged.
    held_up: bool,
}

impl EventLog {
    /// Emits an event of the loop.
    pub(crate) fn log(&self, queue: &Arc<str>, event: &Event<'_>, now: Instant) {
        let ended = matches!(event, Event::Phase(Phase::Ended));
        let sums = self.lock().failures.sums(now, ended);
        sums.iter().for_each(log_summary);
        match event {
            Event::Settled {
                lease,
                disposition: Disposition::Retry { .. },
                reason: Some(reason),
                settled: Settled::Done,
                ..
            } => {
                let telling = self.lock().failures.note(queue, reason, now);
                log_failure(queue, lease, reason, telling);
            }
            Event::Sampled {
                result: Ok(counters),
            } => self.log_pause(queue, counters.paused),
            Event::HeldUp { late } => self.log_hold_up(queue, *late),
            Event::Failed { verb, error } => {
                let is_news = self.lock().outages.failed(queue, *verb, error, now);
                log_failed_call(queue, *verb, error, is_news);
            }
            Event::Recovered { verb, after } => {
                let over = self.lock().outages.recovered(queue, *verb, now);
                log_recovery(queue, *verb, *after, over.as_deref());
            }
            event => log_event(queue, event),
        }
    }

    fn log_hold_up(&self, queue: &str, late: Duration) {
        let is_news = !std::mem::replace(&mut self.lock().held_up, true);
        let late = in_millis(late);
        if is_news {
            warn!(target: TARGET, queue, %late, "heartbeats were late: a handler blocks the worker's thread \
                (move that work to spawn_blocking), or the process stood still");
        } else {
            debug!(target: TARGET, queue, %late, "heartbeats were late");
        }
    }

    fn log_pause(&self, queue: &Arc<str>, paused: bool) {
        let news = {
            let told = &mut self.lock().paused;
            match paused {
                true => told.insert(Arc::clone(queue)),
                false => told.remove(queue),
            }
        };
        match (news, paused) {
            (true, true) => {
                info!(target: TARGET, queue = &**queue, "paused: no message comes until it is resumed");
            }
            (true, false) => info!(target: TARGET, queue = &**queue, "resumed"),
            (false, _) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        // A panic cannot leave a count half-written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log_failure(queue: &str, lease: &Lease, reason: &str, telling: FailureLog) {
    let (id, job) = (lease.receipt.id.get(), lease.job_name());
    let (attempt, outcome) = (lease.attempt, DeliveryOutcome::Retried.name());
    let text = format!("attempt {attempt} failed: {}", sanitized(reason));
    match telling {
        FailureLog::First => {
            warn!(target: TARGET, queue, id, job, attempt, outcome, reason, "{text}");
        }
        FailureLog::Repeat => {
            info!(target: TARGET, queue, id, job, attempt, outcome, reason, "{text}");
        }
        FailureLog::InSum => {
            debug!(target: TARGET, queue, id, job, attempt, outcome, reason, "{text}");
        }
    }
}

fn log_summary(sum: &FailureSummary) {
    let (queue, failures, reason) = (&*sum.queue, sum.failures, &*sum.reason);
    let times = if failures == 1 { "time" } else { "times" };
    let within = in_millis(sum.within);
    info!(
        target: TARGET,
        queue,
        failures,
        reason,
        "failed {failures} more {times} in {within}: {}",
        sanitized(reason)
    );
}

/// An outage is logged at its first failed call only.
fn log_failed_call(queue: &str, verb: CallKind, error: &Error, is_news: bool) {
    let call = verb.name();
    if is_news {
        warn!(target: TARGET, queue, call, error = with_sources(error), "a call failed");
    } else {
        debug!(target: TARGET, queue, call, error = with_sources(error), "a call failed");
    }
}

/// `over` has the outages that ended with this call, if the call had failed in one.
fn log_recovery(queue: &str, verb: CallKind, after: Duration, over: Option<&[OutageEnd]>) {
    let (call, after) = (verb.name(), in_millis(after));
    match over {
        None => info!(target: TARGET, queue, call, %after, "calls succeed again"),
        Some([]) => debug!(target: TARGET, queue, call, %after, "calls succeed again"),
        Some(outages) => {
            for OutageEnd { queues, after } in outages {
                let after = in_millis(*after);
                info!(target: TARGET, queue, call, queues, %after, "calls succeed again");
            }
        }
    }
}

fn log_event(queue: &str, event: &Event<'_>) {
    match event {
        Event::Phase(phase) => {
            info!(target: TARGET, ?phase, queues = queue, "the worker's phase");
        }
        Event::NoDelay { lease, error } => {
            let (id, job, attempt) = (lease.receipt.id.get(), lease.job_name(), lease.attempt);
            warn!(target: TARGET, queue, id, job, attempt, error = with_sources(error), "the back-off rule panicked: the default delay is used");
        }
        Event::StepsLeft { lease, names } => {
            let (id, job) = (lease.receipt.id.get(), lease.job_name());
            let names = names.join(", ");
            warn!(target: TARGET, queue, id, job, names, "the job is done, and its handler has no steps of these names: did an earlier version have them?");
        }
        Event::Refused { lease, part, error } => {
            let (id, job, attempt) = (lease.receipt.id.get(), lease.job_name(), lease.attempt);
            let text = match part {
                RefusedPart::Settlement => "the backend refused its settlement",
                RefusedPart::Progress => "the backend refused its progress",
                RefusedPart::Extension => "the backend refused to extend its lease",
            };
            warn!(target: TARGET, queue, id, job, attempt, error = with_sources(error), "{text}");
        }
        Event::NotRegistered { error } => {
            warn!(target: TARGET, error = with_sources(error), "not in the list of workers: the next beat tries again");
        }
        Event::Ended {
            lease,
            ending: Some(ending @ HandlerResult::Abnormal(AbnormalEnd::Panicked(_))),
            cut_off: true,
            ..
        } => {
            let (id, job, attempt) = (lease.receipt.id.get(), lease.job_name(), lease.attempt);
            let failure = ending.failure();
            let reason = failure.as_ref().map(Failure::reason);
            warn!(target: TARGET, queue, id, job, attempt, reason, "panicked when it was cut off");
        }
        Event::Told { lease, stop } => {
            let (id, job, attempt) = (lease.receipt.id.get(), lease.job_name(), lease.attempt);
            match stop {
                Stop::LeaseLost => warn!(target: TARGET, queue, id, job, attempt, "lease lost"),
                Stop::Shutdown => {
                    debug!(target: TARGET, queue, id, job, attempt, "told to stop: shutdown");
                }
            }
        }
        _ => {}
    }
    if let Some((fate, lease)) = DeliveryOutcome::of(event) {
        let reason = match event {
            Event::Settled { reason, .. } => *reason,
            _ => None,
        };
        log_outcome(queue, lease, fate, reason);
    }
}

/// Emits the outcome of a delivery.
fn log_outcome(queue: &str, lease: &Lease, fate: DeliveryOutcome, reason: Option<&str>) {
    let (id, job) = (lease.receipt.id.get(), lease.job_name());
    let (attempt, outcome) = (lease.attempt, fate.name());
    let text = match fate {
        DeliveryOutcome::Acked
        | DeliveryOutcome::Retried
        | DeliveryOutcome::Deferred
        | DeliveryOutcome::Released => {
            debug!(target: TARGET, queue, id, job, attempt, outcome, reason, "settled");
            return;
        }
        DeliveryOutcome::Died => {
            let attempts = if attempt == 1 { "attempt" } else { "attempts" };
            let why = reason.map_or_else(String::new, |reason| format!(": {}", sanitized(reason)));
            format!("died after {attempt} {attempts}{why}")
        }
        DeliveryOutcome::Lost => "not settled: the lease is lost".to_owned(),
        DeliveryOutcome::Unconfirmed => "settled or lost: the reply did not come".to_owned(),
        DeliveryOutcome::Unsettled => "not settled: no call got through in time".to_owned(),
        DeliveryOutcome::Abandoned => "not settled: the handler did not stop".to_owned(),
    };
    warn!(target: TARGET, queue, id, job, attempt, outcome, reason, "{text}");
}
