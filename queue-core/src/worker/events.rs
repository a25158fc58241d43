//! Everything that happens in a worker, said in one place: counts and health are made from it, and
//! so is whatever else wants to know.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

#[cfg(feature = "tracing")]
use super::handler::Handling;
use super::{Counts, Stop, handler::Ending, health::Health, lease::Lease, settings::Pool};
#[cfg(feature = "metrics")]
use crate::{Counters, Result};
use crate::{Delivery, Disposition, Error, Settled};

/// One thing that happened.
#[derive(Debug)]
#[allow(
    dead_code,
    reason = "what an event says is for whoever observes, not for the loop"
)]
pub(crate) enum Event<'a> {
    /// A call was sent.
    Called { verb: Verb },
    /// A call failed; it is tried again.
    Failed { verb: Verb, error: &'a Error },
    /// A call succeeded again, so long after the first failure.
    Recovered { verb: Verb, after: Duration },
    /// A delivery came.
    Leased { delivery: &'a Delivery },
    /// A handler was started for it.
    Started { lease: &'a Lease },
    /// The handler ended after so long; no ending if it was cut off.
    Ended {
        lease: &'a Lease,
        ending: Option<&'a Ending>,
        took: Duration,
    },
    /// The backend answered a settlement. `doubtful` if an earlier reply to it was lost.
    Settled {
        lease: &'a Lease,
        disposition: &'a Disposition,
        settled: Settled,
        doubtful: bool,
    },
    /// A result could not be settled while its lease lived. `doubtful` if a reply to it was lost.
    Unsettled { lease: &'a Lease, doubtful: bool },
    /// A result was thrown away, since its lease is lost.
    Discarded { lease: &'a Lease },
    /// A handler did not end when it was cut off.
    Abandoned { lease: &'a Lease },
    /// A handler was told to stop.
    Told { lease: &'a Lease, stop: Stop },
    /// The rule that says how long a failed message waits panicked; the default said it instead.
    NoDelay { lease: &'a Lease, error: &'a Error },
    /// So many leases were extended.
    Extended { leases: usize },
    /// The queue was asked what it holds. That it fails is no trouble of the worker's.
    #[cfg(feature = "metrics")]
    Sampled { result: &'a Result<Counters> },
    /// The worker came to another part of its life. It is of no queue.
    Phase(Phase),
}

#[cfg(feature = "tracing")]
impl Event<'_> {
    /// Whose lease this is about, if it is about one.
    pub(crate) const fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Started { lease }
            | Self::Ended { lease, .. }
            | Self::Settled { lease, .. }
            | Self::Unsettled { lease, .. }
            | Self::Discarded { lease }
            | Self::Abandoned { lease }
            | Self::NoDelay { lease, .. }
            | Self::Told { lease, .. } => Some(lease),
            _ => None,
        }
    }
}

/// What the loop calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    /// `lease`, `settle`, or both.
    Turn,
    Extend,
    Wait,
}

#[cfg(any(feature = "tracing", feature = "metrics"))]
impl Verb {
    /// As labels and fields show it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Extend => "extend",
            Self::Wait => "wait",
        }
    }
}

/// The parts of a worker's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Built, and not running yet.
    Idle,
    /// Leasing and handling.
    Working,
    /// Shutting down: handlers finish, nothing is leased.
    Draining,
    /// The time to finish is over: handlers are told to stop.
    Stopping,
    /// Handlers are cut off; what is left is settled.
    Ending,
    /// Over.
    Ended,
}

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
