//! What can happen in a worker.

use std::time::Duration;

#[cfg(feature = "metrics")]
use queue_core::{Counters, Result};
use queue_core::{Delivery, Disposition, Error, Settled};

use super::{handler::Ending, lease::Lease, stop::Stop};

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
