//! One queue of a running worker: its calls in flight, and the results and requests to send.

use std::{collections::VecDeque, future::Future, pin::Pin, sync::Arc, time::Duration};

use queue_core::{Bytes, Counters, Extended, Leased, Leasing, Result, Settled, Settlement};
use tokio::{sync::oneshot, time::Instant};

use super::{
    batch_limit::BatchLimit,
    refused_extensions::ExtendingAlone,
    refused_results::{Burial, SettlingAlone},
};
use crate::{
    event::Event, handler::JobHandler, lease::Lease, outage::Outage, settings::RouteSettings,
    source::Source, task_message::ExtendRequest,
};

pub(super) type InFlight<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The first delay after a failure, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// A batch that is not full yet. It has a slot. No heartbeat extends its leases, which last at least twice as long as
/// it may wait.
pub(super) struct Gathering {
    pub(super) messages: Vec<LeasedBody>,
    /// The time at which it starts as it is.
    pub(super) until: Instant,
}

pub(super) struct ServedQueue {
    pub(super) queue: Arc<dyn Leasing>,
    pub(super) handler: Arc<dyn JobHandler>,
    pub(super) terms: RouteSettings,
    pub(super) name: Arc<str>,
    /// Running jobs.
    pub(super) jobs: usize,
    /// The `settle_and_lease` or `settle` in flight: one at a time, and never dropped.
    pub(super) call: Option<CallInFlight>,
    pub(super) call_outage: Outage,
    pub(super) reach: BatchLimit,
    /// Results to settle.
    pub(super) pending: VecDeque<Pending>,
    /// Results of a refused batch, which are settled one by one before all others.
    pub(super) alone: Option<SettlingAlone>,
    /// The batch that waits until it is full.
    pub(super) gathering: Option<Gathering>,
    /// The time of the next poll for messages.
    pub(super) next_poll: Instant,
    /// The `extend` in flight, beside the call, so that no lease runs out behind a slow one.
    pub(super) heartbeat: Option<Heartbeat>,
    pub(super) heartbeat_outage: Outage,
    /// No heartbeat is due before this.
    pub(super) heartbeat_due: Option<Instant>,
    pub(super) requests: VecDeque<ExtendRequest>,
    /// Leases of a refused heartbeat, which are extended one by one before all others.
    pub(super) extending_alone: Option<ExtendingAlone>,
    /// The wait in flight. Of everything in flight, only this may be dropped.
    pub(super) wait: Option<Wait>,
    pub(super) wait_outage: Outage,
    /// The sample in flight, which only reads, and the time of the next one.
    pub(super) sample: Option<InFlight<Result<Counters>>>,
    pub(super) sample_due: Instant,
}

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
}

impl ServedQueue {
    pub(super) fn new(source: Source, name: Arc<str>, now: Instant, seed: u64) -> Self {
        let heartbeat_longest = (source.terms.lease / 12).max(Duration::from_millis(1));
        let heartbeat_longest = heartbeat_longest.min(RETRY.1);
        let outage = |verb: u64| Outage::new(RETRY.0, RETRY.1, seed ^ verb);
        Self {
            queue: source.queue,
            handler: source.handler,
            terms: source.terms,
            name,
            jobs: 0,
            call: None,
            call_outage: outage(1),
            reach: BatchLimit::new(),
            pending: VecDeque::new(),
            alone: None,
            gathering: None,
            next_poll: now,
            heartbeat: None,
            // Several tries have to fit in before the deadline.
            heartbeat_outage: Outage::new(
                RETRY.0.min(heartbeat_longest),
                heartbeat_longest,
                seed ^ 2,
            ),
            heartbeat_due: None,
            requests: VecDeque::new(),
            extending_alone: None,
            wait: None,
            wait_outage: outage(3),
            sample: None,
            sample_due: now,
        }
    }

    /// Whether no result is left to settle.
    pub(super) fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.alone.is_none()
    }

    /// The slots that the queue may take in addition to its own.
    pub(super) fn more_slots(&self) -> usize {
        let most = self.terms.at_most.unwrap_or(usize::MAX);
        let in_call = self.call.as_ref().map_or(0, |call| call.slots);
        let waiting = usize::from(self.gathering.is_some());
        most.saturating_sub(self.jobs + in_call + waiting)
    }
}
