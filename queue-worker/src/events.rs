//! Where everything that happens in a worker is said: counts and health are made from it, and so is
//! whatever else wants to know.

use std::sync::Arc;

use tokio::time::Instant;

#[cfg(feature = "tracing")]
use super::handler::Handling;
#[cfg(feature = "tracing")]
use super::lease::Lease;
use super::{Counts, event::Event, health::Health, settings::Pool};

/// Where events go.
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
        allow(unused_variables, reason = "no setting is about what is left out")
    )]
    pub(crate) fn new(health: Health, pool: &Pool) -> Self {
        Self {
            health,
            #[cfg(feature = "metrics")]
            meters: super::metrics::Meters::new(),
            #[cfg(feature = "tracing")]
            link: pool.link.clone(),
        }
    }

    /// What has happened so far.
    pub(crate) fn counts(&self) -> Counts {
        self.health.counts()
    }

    /// Something happened now, on this queue.
    pub(crate) fn emit(&self, queue: &Arc<str>, event: &Event<'_>) {
        self.health.note(queue, event, Instant::now());
        #[cfg(feature = "metrics")]
        self.meters.note(queue, event);
        #[cfg(feature = "tracing")]
        super::tracing::tell(queue, event);
    }

    /// What a handler's future is wrapped in before its task is started.
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
