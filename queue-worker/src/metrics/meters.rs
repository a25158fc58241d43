//! A worker's metrics for each queue, driven by its events.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ::metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use queue_core::{Counters, Settled, Timestamp, Token};

use super::{
    CALL_ERRORS, CALLS, DELIVERIES, HANDLED, HANDLER_SECONDS, HELD_UP, IN_FLIGHT, LATENESS_SECONDS,
    LEASES_EXTENDED, LEASES_LOST, MESSAGES, OLDEST_READY_SECONDS, OUTCOMES, PAUSED, WAIT_SECONDS,
};
use crate::{
    Stop, event::Event, handler_result::HandlerResult, lease::Lease, outcome::DeliveryOutcome,
};

/// The results of handlings: the names of [`HandlerResult::name`], and `cut_off`.
const ENDINGS: [&str; 7] = [
    "done",
    "deferred",
    "failed",
    "panicked",
    "timed_out",
    "undecodable",
    "cut_off",
];

/// A worker's metrics, by queue.
#[derive(Default)]
pub(crate) struct Meters(Mutex<BTreeMap<Arc<str>, QueueMeters>>);

impl Meters {
    pub(crate) fn new() -> Self {
        super::describe();
        Self::default()
    }

    pub(crate) fn note(&self, queue: &Arc<str>, event: &Event<'_>) {
        if matches!(event, Event::Phase(_)) {
            return;
        }
        // A panic cannot leave a queue's metrics half-written.
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let meters = queues
            .entry(Arc::clone(queue))
            .or_insert_with(|| QueueMeters::new(queue));
        meters.note(event);
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").finish_non_exhaustive()
    }
}

struct QueueMeters {
    name: Arc<str>,
    deliveries: Counter,
    wait_seconds: Histogram,
    lateness_seconds: Histogram,
    leases_lost: Counter,
    leases_extended: Counter,
    held_up: Counter,
    /// Of each type of job; of all together if no router handles the queue.
    jobs: BTreeMap<Option<Arc<str>>, JobMeters>,
    calls: BTreeMap<&'static str, (Counter, Counter)>,
}

impl QueueMeters {
    fn new(name: &Arc<str>) -> Self {
        let label = || name.to_string();
        Self {
            name: Arc::clone(name),
            deliveries: counter!(DELIVERIES, "queue" => label()),
            wait_seconds: histogram!(WAIT_SECONDS, "queue" => label()),
            lateness_seconds: histogram!(LATENESS_SECONDS, "queue" => label()),
            leases_lost: counter!(LEASES_LOST, "queue" => label()),
            leases_extended: counter!(LEASES_EXTENDED, "queue" => label()),
            held_up: counter!(HELD_UP, "queue" => label()),
            jobs: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    fn note(&mut self, event: &Event<'_>) {
        match event {
            // All exist from the start, because a rate needs the 0 before the first 1.
            Event::Serving { jobs: [] } => {
                self.meters(None);
            }
            Event::Serving { jobs } => {
                for job in *jobs {
                    self.meters(Some(&job.name));
                }
            }
            Event::Called { verb } => self.call(verb.name()).0.increment(1),
            Event::Failed { verb, .. } => self.call(verb.name()).1.increment(1),
            Event::Leased { lease } => self.leased(lease),
            Event::Told {
                stop: Stop::LeaseLost,
                ..
            }
            | Event::Settled {
                settled: Settled::LeaseLost,
                doubtful: false,
                ..
            } => self.leases_lost.increment(1),
            Event::HeldUp { .. } => self.held_up.increment(1),
            Event::Extended { leases } => self.leases_extended.increment(*leases as u64),
            Event::Sampled { result } => {
                let (calls, errors) = self.call("counters");
                calls.increment(1);
                match result {
                    Ok(counters) => self.sampled(counters),
                    Err(_) => errors.increment(1),
                }
            }
            _ => {}
        }
        let of_one_message = matches!(event, Event::Started { .. } | Event::Ended { .. });
        if of_one_message || DeliveryOutcome::of(event).is_some() {
            let job = event.job().map(|job| &job.name);
            self.meters(job).note(event);
        }
    }

    fn meters(&mut self, job: Option<&Arc<str>>) -> &mut JobMeters {
        let name = &self.name;
        let new = || JobMeters::new(name, job);
        self.jobs.entry(job.cloned()).or_insert_with(new)
    }

    /// The counters of this verb's calls and of their failures.
    fn call(&mut self, call: &'static str) -> &(Counter, Counter) {
        let name = &self.name;
        self.calls.entry(call).or_insert_with(|| {
            (
                counter!(CALLS, "queue" => name.to_string(), "call" => call),
                counter!(CALL_ERRORS, "queue" => name.to_string(), "call" => call),
            )
        })
    }

    fn leased(&self, lease: &Lease) {
        self.deliveries.increment(1);
        if lease.attempt > 1 {
            return;
        }
        let leased = Timestamp::from_millis(lease.receipt.token.get() / Token::PER_MILLI);
        let headers = &lease.headers;
        if let Some(pushed) = headers.pushed_at() {
            self.wait_seconds.record(leased.since(pushed));
        }
        if let Some(due) = headers.due_at() {
            self.lateness_seconds.record(leased.since(due));
        }
    }

    fn sampled(&self, counters: &Counters) {
        let depth = &counters.depth;
        let states = [
            ("ready", depth.ready),
            ("delayed", depth.delayed),
            ("leased", depth.leased),
            ("dead", depth.dead),
        ];
        let label = || self.name.to_string();
        for (state, messages) in states {
            gauge!(MESSAGES, "queue" => label(), "state" => state).set(messages as f64);
        }
        let oldest: Duration = counters.oldest_ready.unwrap_or_default();
        gauge!(OLDEST_READY_SECONDS, "queue" => label()).set(oldest);
        gauge!(PAUSED, "queue" => label()).set(f64::from(u8::from(counters.paused)));
    }
}

/// The metrics of one type of job, or of a queue without a router.
struct JobMeters {
    in_flight: Gauge,
    /// This worker's part of the gauge, which other workers share.
    with_handlers: u32,
    handler_seconds: Histogram,
    outcomes: BTreeMap<DeliveryOutcome, Counter>,
    handled: BTreeMap<&'static str, Counter>,
}

impl JobMeters {
    fn new(queue: &Arc<str>, job: Option<&Arc<str>>) -> Self {
        let mut labels = vec![("queue", queue.to_string())];
        labels.extend(job.map(|job| ("job_type", job.to_string())));
        let with = |label, value: &str| {
            let mut labels = labels.clone();
            labels.push((label, value.to_owned()));
            labels
        };
        Self {
            in_flight: gauge!(IN_FLIGHT, &labels),
            with_handlers: 0,
            handler_seconds: histogram!(HANDLER_SECONDS, &labels),
            outcomes: DeliveryOutcome::ALL
                .map(|fate| (fate, counter!(OUTCOMES, &with("outcome", fate.name()))))
                .into(),
            handled: ENDINGS
                .map(|ending| (ending, counter!(HANDLED, &with("ending", ending))))
                .into(),
        }
    }

    fn note(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { .. } => {
                self.with_handlers += 1;
                self.in_flight.increment(1.0);
            }
            Event::Ended { ending, took, .. } => {
                self.left();
                self.handler_seconds.record(*took);
                let ending = ending.map_or("cut_off", HandlerResult::name);
                if let Some(handled) = self.handled.get(ending) {
                    handled.increment(1);
                }
            }
            Event::Abandoned { .. } => self.left(),
            _ => {}
        }
        let outcome = DeliveryOutcome::of(event).and_then(|(fate, _)| self.outcomes.get(&fate));
        if let Some(outcome) = outcome {
            outcome.increment(1);
        }
    }

    fn left(&mut self) {
        if self.with_handlers > 0 {
            self.with_handlers -= 1;
            self.in_flight.decrement(1.0);
        }
    }
}

impl Drop for JobMeters {
    /// A worker dropped while it runs drops its handlers, too.
    fn drop(&mut self) {
        self.in_flight.decrement(f64::from(self.with_handlers));
    }
}
