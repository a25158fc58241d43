//! How a worker is, for whoever looks from outside.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use queue_core::Error;
use tokio::time::Instant;

use super::{
    Counts, Phase,
    event::{Event, Verb},
};

/// Looks at a worker from outside, also while it runs; clones look at the same one.
///
/// A worker is healthy while every verb's last call succeeded. Waiting counts as well: a connection
/// that only waits and is dead makes no other call fail.
#[derive(Debug, Clone)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    phase: Phase,
    counts: Counts,
    in_flight: u64,
    troubles: BTreeMap<(Arc<str>, Verb), Trouble>,
    last_error: Option<Error>,
}

/// What a backend has not answered lately.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trouble {
    /// What the worker calls the queue.
    pub queue: String,
    /// Since when it fails.
    pub since: Instant,
    /// How often it was tried in vain.
    pub failures: u64,
    /// What the last try said.
    pub error: Error,
}

impl Health {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            phase: Phase::Idle,
            counts: Counts::default(),
            in_flight: 0,
            troubles: BTreeMap::new(),
            last_error: None,
        })))
    }

    /// Whether it runs and nothing fails.
    pub fn is_healthy(&self) -> bool {
        let state = self.lock();
        state.phase == Phase::Working && state.troubles.is_empty()
    }

    /// Where it is in its life.
    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// What fails at present: empty once everything was answered again.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.lock().troubles.values().cloned().collect()
    }

    /// The last error there was, also when it is over.
    pub fn last_error(&self) -> Option<Error> {
        self.lock().last_error.clone()
    }

    /// What it has done so far.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Messages that are with a handler now.
    pub fn in_flight(&self) -> u64 {
        self.lock().in_flight
    }

    pub(crate) fn note(&self, queue: &Arc<str>, event: &Event<'_>, now: Instant) {
        let mut state = self.lock();
        state.counts.note(event);
        match event {
            Event::Phase(phase) => state.phase = *phase,
            Event::Started { .. } => state.in_flight += 1,
            Event::Ended { .. } | Event::Abandoned { .. } => {
                state.in_flight = state.in_flight.saturating_sub(1);
            }
            Event::NoDelay { error, .. } => state.last_error = Some((*error).clone()),
            Event::Failed { verb, error } => {
                state.last_error = Some((*error).clone());
                let fresh = || Trouble {
                    queue: queue.to_string(),
                    since: now,
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
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Counting does not panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
