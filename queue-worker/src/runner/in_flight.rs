//! Calls and waits in flight, and the results and extensions that the calls carry.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use queue_core::{Bytes, Error, Extended, Leased, Result, Settled, Settlement};
use tokio::{sync::oneshot, time::Instant};

use crate::{event::Event, job_state::Unstored, lease::Lease};

pub(super) type InFlight<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(super) struct Wait {
    /// Returns a message, if one was handed over.
    pub(super) future: InFlight<Result<Leased>>,
    pub(super) began: Instant,
    /// The time at which its own timer ends it.
    pub(super) until: Instant,
    /// Whether the wait takes a message, because there is a slot, and not a hint alone.
    pub(super) has_slot: bool,
}

pub(super) struct CallInFlight {
    pub(super) future: InFlight<CallAnswer>,
    pub(super) sent: Instant,
    /// Slots that the call may fill.
    pub(super) slots: usize,
    /// Messages that the call asked for.
    pub(super) max: usize,
}

pub(super) struct CallAnswer {
    pub(super) batch: Vec<Pending>,
    pub(super) result: Result<(Vec<Settled>, Option<Leased>)>,
}

/// A result to settle.
pub(super) struct Pending {
    pub(super) settlement: Settlement,
    /// Why the attempt failed, if it did.
    pub(super) reason: Option<String>,
    pub(super) lease: Arc<Lease>,
    pub(super) since: Instant,
    /// The worker sent the result before, and the reply was lost.
    pub(super) doubtful: bool,
    /// The settlement that was refused, if this one buries its message instead.
    pub(super) burial: Option<Box<Burial>>,
}

/// A refused settlement, for which its message is buried.
pub(super) struct Burial {
    pub(super) settlement: Settlement,
    pub(super) reason: Option<String>,
    pub(super) error: Error,
}

/// A message that no handler has yet.
pub(super) struct LeasedBody {
    pub(super) body: Bytes,
    pub(super) lease: Arc<Lease>,
}

impl LeasedBody {
    /// The result of a message that no handler gets.
    pub(super) fn release(self, now: Instant) -> Pending {
        Pending {
            settlement: Settlement::release(self.lease.receipt),
            reason: None,
            lease: self.lease,
            since: now,
            doubtful: false,
            burial: None,
        }
    }
}

impl Pending {
    /// The event of giving this result up.
    pub(super) fn unsettled(&self) -> Event<'_> {
        Event::Unsettled {
            lease: &self.lease,
            doubtful: self.doubtful,
        }
    }
}

pub(super) struct Heartbeat {
    pub(super) future: InFlight<Result<Vec<Extended>>>,
    pub(super) sent: Instant,
    pub(super) lease_time: Duration,
    pub(super) entries: Vec<ExtendedLease>,
}

/// A lease that a heartbeat extends.
pub(super) struct ExtendedLease {
    pub(super) job: u64,
    pub(super) entry: usize,
    pub(super) reply: Option<oneshot::Sender<Result<()>>>,
    /// The progress that goes with it.
    pub(super) progress: Option<Bytes>,
    /// Whether the state goes with it, and the state once it is sent.
    pub(super) stores_state: bool,
    pub(super) state: Option<Unstored>,
}
