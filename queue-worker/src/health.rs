//! A worker's health, for observers outside.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use queue_core::{Error, in_millis, with_sources};
use tokio::time::Instant;

use super::{
    Counts, Phase,
    event::{CallKind, Event},
};

/// A view of a worker from outside, also while it runs. Clones view the same worker.
///
/// A worker is healthy while the last call of each verb succeeded. Waits count as well, because no other call
/// fails if only the waiting connection is dead.
#[derive(Debug, Clone)]
pub struct Health(Arc<Mutex<HealthState>>);

#[derive(Debug)]
struct HealthState {
    phase: Phase,
    counts: Counts,
    jobs: BTreeMap<Arc<str>, Counts>,
    in_flight: u64,
    troubles: BTreeMap<(Arc<str>, CallKind), Trouble>,
    paused: BTreeSet<Arc<str>>,
    last_error: Option<Error>,
}

/// A call that fails at present. `Display` shows it in a sentence.
#[derive(Clone)]
#[non_exhaustive]
pub struct Trouble {
    /// The worker's name for the queue.
    pub queue: String,
    /// The call: `settle_and_lease` (it leases, settles, or both), `extend` (heartbeats) or `wait`.
    pub call: &'static str,
    /// The time of the first failure; under tokio's paused clock, a time of that clock. [`age`](Self::age) needs none.
    pub since: std::time::Instant,
    /// The number of failures since then.
    pub failures: u64,
    /// The error of the last try.
    pub error: Error,
}

impl Trouble {
    /// The time since the first failure.
    pub fn age(&self) -> Duration {
        Instant::from_std(self.since).elapsed()
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, queue, failures) = (self.call, &self.queue, self.failures);
        let (age, times) = (
            in_millis(self.age()),
            if failures == 1 { "time" } else { "times" },
        );
        write!(
            f,
            "{call} of queue {queue:?} has failed {failures} {times} in {age}: {}",
            with_sources(&self.error)
        )
    }
}

impl fmt::Debug for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trouble")
            .field("queue", &self.queue)
            .field("call", &self.call)
            .field("age", &in_millis(self.age()))
            .field("failures", &self.failures)
            .field("error", &self.error)
            .finish()
    }
}

impl Health {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(HealthState {
            phase: Phase::Idle,
            counts: Counts::default(),
            jobs: BTreeMap::new(),
            in_flight: 0,
            troubles: BTreeMap::new(),
            paused: BTreeSet::new(),
            last_error: None,
        })))
    }

    /// Whether the worker runs and no call fails. A worker that its program has paused is healthy.
    pub fn is_healthy(&self) -> bool {
        let state = self.lock();
        matches!(state.phase, Phase::Working | Phase::Paused) && state.troubles.is_empty()
    }

    /// The worker's phase.
    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// The calls that fail at present: empty once each has succeeded again.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.lock().troubles.values().cloned().collect()
    }

    /// The queues that an operator has paused, by the worker's names for them. The worker gets no message
    /// from paused queues, though it is healthy.
    ///
    /// The worker reads this from samples: it is empty without [`sample_every`](crate::Worker::sample_every),
    /// and as old as the last sample with it.
    pub fn paused(&self) -> Vec<String> {
        self.lock().paused.iter().map(ToString::to_string).collect()
    }

    /// The last error, also after recovery.
    pub fn last_error(&self) -> Option<Error> {
        self.lock().last_error.clone()
    }

    /// The worker's counts so far.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// The counts of each type of job so far, by its name, if a [`Router`](crate::Router) handles them. Types without
    /// a handler count together, as `unknown`. Counts that are of no single message, such as `calls`, are 0.
    pub fn jobs(&self) -> BTreeMap<String, Counts> {
        let state = self.lock();
        let jobs = state.jobs.iter();
        jobs.map(|(name, counts)| (name.to_string(), *counts))
            .collect()
    }

    /// Messages in handlers now.
    pub fn in_flight(&self) -> u64 {
        self.lock().in_flight
    }

    pub(crate) fn note(&self, queue: &Arc<str>, event: &Event<'_>, now: Instant) {
        let mut state = self.lock();
        state.counts.note(event);
        if let Some(job) = event.job() {
            let counts = state.jobs.entry(Arc::clone(&job.name)).or_default();
            counts.note(event);
        }
        match event {
            Event::Phase(phase) => state.phase = *phase,
            Event::Started { .. } => state.in_flight += 1,
            Event::Ended { .. } | Event::Abandoned { .. } => {
                state.in_flight = state.in_flight.saturating_sub(1);
            }
            Event::NoDelay { error, .. }
            | Event::NotRegistered { error }
            | Event::Refused { error, .. } => {
                state.last_error = Some((*error).clone());
            }
            Event::Failed { verb, error } => {
                state.last_error = Some((*error).clone());
                let fresh = || Trouble {
                    queue: queue.to_string(),
                    call: verb.name(),
                    since: now.into_std(),
                    failures: 0,
                    error: (*error).clone(),
                };
                let key = (Arc::clone(queue), *verb);
                let trouble = state.troubles.entry(key).or_insert_with(fresh);
                trouble.failures += 1;
                trouble.error = (*error).clone();
            }
            Event::Recovered { verb, .. } => {
                state.troubles.remove(&(Arc::clone(queue), *verb));
            }
            Event::Sampled {
                result: Ok(counters),
            } => {
                if counters.paused {
                    state.paused.insert(Arc::clone(queue));
                } else {
                    state.paused.remove(queue);
                }
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, HealthState> {
        // No code panics half-way while it counts.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
