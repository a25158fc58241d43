//! One queue of a running worker: what it has in flight, and the results and requests to send.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use queue_core::{Counters, Leasing, Result};
use tokio::time::Instant;

use super::{
    batch_limit::BatchLimit,
    in_flight::{CallInFlight, Heartbeat, InFlight, LeasedBody, Pending, Wait},
    refused_extensions::ExtendingAlone,
    refused_results::SettlingAlone,
};
use crate::{
    handler::JobHandler, outage::Outage, queue_scope::QueueScope, settings::RouteSettings,
    source::Source, task_message::ExtendRequest,
};

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
    /// The queue as its handlers see it.
    pub(super) scope: Arc<QueueScope>,
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

impl ServedQueue {
    pub(super) fn new(source: Source, scope: QueueScope, now: Instant, seed: u64) -> Self {
        let heartbeat_longest = (source.terms.lease / 12).max(Duration::from_millis(1));
        let heartbeat_longest = heartbeat_longest.min(RETRY.1);
        let outage = |verb: u64| Outage::new(RETRY.0, RETRY.1, seed ^ verb);
        Self {
            queue: source.queue,
            handler: source.handler,
            terms: source.terms,
            name: Arc::clone(&scope.name),
            scope: Arc::new(scope),
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
