//! The one sink of a worker's events, which feeds counts, health, metrics and tracing.

use std::sync::Arc;

use tokio::time::Instant;

#[cfg(feature = "tracing")]
use super::handler::Handling;
#[cfg(feature = "tracing")]
use super::lease::Lease;
use super::{Counts, event::Event, health::Health, settings::WorkerSettings};

/// Hands each event to its observers.
#[derive(Debug)]
pub(crate) struct Events {
    health: Health,
    #[cfg(feature = "metrics")]
    meters: super::metrics::Meters,
    #[cfg(feature = "tracing")]
    link: Option<super::tracing::Link>,
}

impl Events {
    #[cfg_attr(
        not(feature = "tracing"),
        allow(
            unused_variables,
            reason = "without the feature there is no such setting"
        )
    )]
    pub(crate) fn new(health: Health, settings: &WorkerSettings) -> Self {
        Self {
            health,
            #[cfg(feature = "metrics")]
            meters: super::metrics::Meters::new(),
            #[cfg(feature = "tracing")]
            link: settings.link.clone(),
        }
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> Counts {
        self.health.counts()
    }

    /// Records an event of this queue, now.
    pub(crate) fn emit(&self, queue: &Arc<str>, event: &Event<'_>) {
        self.health.note(queue, event, Instant::now());
        #[cfg(feature = "metrics")]
        self.meters.note(queue, event);
        #[cfg(feature = "tracing")]
        super::tracing::tell(queue, event);
    }

    /// Wraps a handler's future in its span before its task starts.
    #[cfg(feature = "tracing")]
    pub(crate) fn enclose(
        &self,
        queue: &Arc<str>,
        leases: &[Arc<Lease>],
        handling: Handling,
    ) -> Handling {
        super::tracing::enclose(queue, leases, self.link.clone(), handling)
    }
}
