//! The events of a worker.

use std::{sync::Arc, time::Duration};

use queue_core::{Counters, Disposition, Error, Result, Settled};

use super::{handler_result::HandlerResult, job_type::JobType, lease::Lease, stop::Stop};

/// One event.
#[derive(Debug)]
#[allow(
    dead_code,
    reason = "observers read an event's fields, the loop does not"
)]
pub(crate) enum Event<'a> {
    /// The worker begins to serve a queue. Its router has these types of jobs; none if it has no router.
    Serving { jobs: &'a [&'a JobType] },
    /// The worker sent a call.
    Called { verb: CallKind },
    /// A call failed; the worker tries again.
    Failed { verb: CallKind, error: &'a Error },
    /// A call succeeded again, `after` the first failure.
    Recovered { verb: CallKind, after: Duration },
    /// A delivery came.
    Leased { lease: &'a Lease },
    /// A handler started.
    Started { lease: &'a Lease },
    /// The handler ended after `took`; there is no result if its task was stopped.
    Ended {
        lease: &'a Lease,
        ending: Option<&'a HandlerResult>,
        /// The worker cut the handler off.
        cut_off: bool,
        took: Duration,
    },
    /// The backend replied to a settlement. `reason` says why the attempt failed, if it did; `doubtful` is
    /// true if an earlier reply to the settlement was lost.
    Settled {
        lease: &'a Lease,
        disposition: &'a Disposition,
        reason: Option<&'a str>,
        settled: Settled,
        doubtful: bool,
    },
    /// The worker could not settle a result while its lease lived. `doubtful` is true if a reply to the
    /// settlement was lost.
    Unsettled { lease: &'a Lease, doubtful: bool },
    /// The backend refused this part of a delivery for good, and took those of others.
    Refused {
        lease: &'a Lease,
        part: RefusedPart,
        error: &'a Error,
    },
    /// The worker threw a result away because its lease is lost.
    Discarded { lease: &'a Lease },
    /// A handler did not end when the worker cut it off.
    Abandoned { lease: &'a Lease },
    /// The worker told a handler to stop.
    Told { lease: &'a Lease, stop: Stop },
    /// The user's back-off rule panicked; the worker took the default delay.
    NoDelay { lease: &'a Lease, error: &'a Error },
    /// A job is done, and its state has steps of these names, which the handler has not used (W6).
    StepsLeft {
        lease: &'a Lease,
        names: &'a [String],
    },
    /// The backend extended `leases` leases.
    Extended { leases: usize },
    /// The worker sampled the queue's counters. A failed sample does not make the worker unhealthy.
    Sampled { result: &'a Result<Counters> },
    /// The worker could not register. It tries again, and is healthy.
    NotRegistered { error: &'a Error },
    /// The loop was polled so late that heartbeats of this queue were late by half a lease or more.
    HeldUp { late: Duration },
    /// The worker entered another phase. This event is of all queues.
    Phase(Phase),
}

impl<'a> Event<'a> {
    /// The type of the job that this event is of, if it is of one message, and a router handles it.
    pub(crate) fn job(&self) -> Option<&'a Arc<JobType>> {
        match *self {
            Self::Leased { lease }
            | Self::Started { lease }
            | Self::Ended { lease, .. }
            | Self::Settled { lease, .. }
            | Self::Unsettled { lease, .. }
            | Self::Refused { lease, .. }
            | Self::Discarded { lease }
            | Self::Abandoned { lease }
            | Self::Told { lease, .. }
            | Self::StepsLeft { lease, .. }
            | Self::NoDelay { lease, .. } => lease.job.as_ref(),
            Self::Serving { .. }
            | Self::Called { .. }
            | Self::Failed { .. }
            | Self::Recovered { .. }
            | Self::Extended { .. }
            | Self::Sampled { .. }
            | Self::NotRegistered { .. }
            | Self::HeldUp { .. }
            | Self::Phase(_) => None,
        }
    }
}

/// A part of a delivery that a backend may refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "observers read it, the loop does not")]
pub(crate) enum RefusedPart {
    /// Its settlement. The worker buried the message instead, or, if the backend refused that too, gave the result up.
    Settlement,
    /// Its progress, which the worker threw away.
    Progress,
    /// The extension of its lease, which no heartbeat extends any more.
    Extension,
}

/// The calls of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallKind {
    /// `settle_and_lease` or `settle`.
    SettleAndLease,
    Extend,
    Wait,
}

impl CallKind {
    /// The name in a health, in labels and in fields.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SettleAndLease => "settle_and_lease",
            Self::Extend => "extend",
            Self::Wait => "wait",
        }
    }
}

/// The phases of a worker's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Built, and not running yet.
    Idle,
    /// It leases and handles messages.
    Working,
    /// The program has [paused](crate::Control::pause) it: handlers go on, and the worker leases nothing.
    Paused,
    /// Shutting down: handlers finish, and the worker leases nothing.
    Draining,
    /// The drain is over: the worker has told handlers to stop.
    Stopping,
    /// The worker has cut handlers off, and settles the remaining results.
    Ending,
    /// The worker has ended.
    Ended,
}
