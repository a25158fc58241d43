//! The one sink of a worker's events, which feeds counts, health, metrics and tracing.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Counts, event::Event, health::Health, times::Times};

/// Hands each event to its observers.
#[derive(Debug)]
pub(crate) struct Events {
    /// The time of the events: that of the loop's pass, because each look at the clock costs something.
    pub(crate) now: Instant,
    health: Health,
    /// The times that the worker keeps, if it was asked to.
    pub(crate) times: Option<Times>,
    #[cfg(feature = "metrics")]
    meters: super::metrics::Meters,
    #[cfg(feature = "tracing")]
    log: super::tracing::EventLog,
}

impl Events {
    pub(crate) fn new(health: Health, keeps_times: bool, now: Instant) -> Self {
        Self {
            now,
            health,
            times: keeps_times.then(|| Times::new(now)),
            #[cfg(feature = "metrics")]
            meters: super::metrics::Meters::new(),
            #[cfg(feature = "tracing")]
            log: super::tracing::EventLog::default(),
        }
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> Counts {
        self.health.counts()
    }

    /// Records an event of this queue; that of a phase is of all queues, named together.
    pub(crate) fn emit(&self, queue: &Arc<str>, event: &Event<'_>) {
        let now = self.now;
        self.health.note(queue, event, now);
        if let Some(times) = &self.times {
            times.note(queue, event, now);
        }
        #[cfg(feature = "metrics")]
        self.meters.note(queue, event);
        #[cfg(feature = "tracing")]
        self.log.log(queue, event, now);
    }
}
