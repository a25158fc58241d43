//! Everything that happens in a worker, said in one place: counts and health are made from it, and
//! so is whatever else wants to know.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    Stop,
    handler::{Ending, Handling},
    health::Health,
    lease::Lease,
};
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
    /// So many leases were extended.
    Extended { leases: usize },
    /// The worker came to another part of its life. It is of no queue.
    Phase(Phase),
}

/// What the loop calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    /// `lease`, `settle`, or both.
    Turn,
    Extend,
    Wait,
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
#[derive(Debug, Clone)]
pub(crate) struct Events {
    health: Health,
}

impl Events {
    pub(crate) const fn new(health: Health) -> Self {
        Self { health }
    }

    /// Something happened now, on this queue.
    pub(crate) fn emit(&self, queue: &Arc<str>, event: &Event<'_>) {
        self.health.note(queue, event, Instant::now());
    }

    /// What a handler's future is wrapped in before its task is started.
    pub(crate) fn enclose(
        &self,
        _queue: &Arc<str>,
        _leases: &[Arc<Lease>],
        handling: Handling,
    ) -> Handling {
        handling
    }
}
