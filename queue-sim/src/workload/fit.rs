//! Calls that a queue has, for queues that lack some.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    Feature, Guarantees, Headers, LeaseRate, Overflow, Push, QueueConfig, QueueName, Result,
    call::{Answer, Call, Layer, Service},
};

use super::{Size, Workload};

/// The amount that is added to drawn lengths, so that each of up to four partitions has room.
const FOR_PARTS: usize = 3;

/// A layer between a process and a queue that lacks some calls. It makes each call one that the queue
/// has, or refuses it, so that neither the queue nor the history gets it.
#[derive(Debug, Clone)]
pub(crate) struct Fit {
    guarantees: Arc<Guarantees>,
    equal_bodies: bool,
    bodies: Arc<AtomicU64>,
}

impl Fit {
    /// Bodies are unique, unless they may be equal.
    pub(crate) fn new(guarantees: Guarantees, equal_bodies: bool) -> Self {
        Self {
            guarantees: Arc::new(guarantees),
            equal_bodies,
            bodies: Arc::default(),
        }
    }

    /// Whether the queue has the method of this name.
    pub(crate) fn has(&self, call: &str) -> bool {
        self.guarantees.calls.contains(call)
    }

    /// Takes out fields that these queues do not store.
    pub(crate) fn workload(&self, workload: &mut Workload) {
        workload.size = Size::Usual;
        workload.operators = false;
        if let Some(leasing) = workload.config.leasing_mut() {
            match self.guarantees.has(Feature::Limits) {
                true if !self.guarantees.has(Feature::Whole) => {
                    // Each partition has a share.
                    leasing.at_once = leasing.at_once.map(|most| most + FOR_PARTS as u32);
                    leasing.rate = leasing
                        .rate
                        .map(|rate| LeaseRate::new(rate.most + FOR_PARTS as u32, rate.per));
                }
                true => {}
                false => (leasing.at_once, leasing.rate) = (None, None),
            }
        }
        match &mut workload.config {
            QueueConfig::Priority(config) => config.ageing = None,
            QueueConfig::Grouped(config) if !self.guarantees.has(Feature::Limits) => {
                config.group_rate = None;
            }
            QueueConfig::Rotating(config) => config.pace = None,
            QueueConfig::Bounded(config) if !self.guarantees.has(Feature::Whole) => {
                config.capacity += FOR_PARTS;
            }
            _ => {}
        }
    }

    fn fit(&self, mut call: Call) -> Call {
        match &mut call {
            Call::Push(messages) => messages.iter_mut().for_each(|push| self.push(push)),
            Call::Insert(items) => {
                for item in items {
                    item.body = self.body(&item.body);
                    if !self.guarantees.has(Feature::Headers) {
                        item.headers = Headers::default();
                    }
                    if !self.guarantees.has(Feature::Keys) {
                        item.key = None;
                    }
                }
            }
            Call::Resize(capacity) if !self.guarantees.has(Feature::Whole) => {
                *capacity = capacity.saturating_add(FOR_PARTS);
            }
            Call::Lease(max, _) | Call::SettleAndLease(_, max, ..)
                if !self.guarantees.has(Feature::Several) =>
            {
                *max = NonZeroUsize::MIN;
            }
            _ => {}
        }
        call
    }

    fn push(&self, push: &mut Push) {
        push.body = self.body(&push.body);
        if !self.guarantees.has(Feature::Headers) {
            push.headers = Headers::default();
        }
        let is_unique = push.dedup.as_ref().is_some_and(|dedup| dedup.until_done);
        if !self.guarantees.has(Feature::Dedup)
            || is_unique && !self.guarantees.has(Feature::Unique)
        {
            push.dedup = None;
        }
        if !self.guarantees.has(Feature::Due) {
            push.due = None;
        }
        if !self.guarantees.has(Feature::Keys) {
            push.distinct = None;
        }
        push.priority = push.priority.map(|drawn| self.priority(drawn));
        if !self.guarantees.has(Feature::Reject) {
            push.overflow = Overflow::DropOldest;
        }
        if !self.guarantees.has(Feature::TimeToLive) {
            push.time_to_live = None;
        }
    }

    /// A body of its own: JSON, with a priority, since some strategies read it.
    fn body(&self, drawn: &Bytes) -> Bytes {
        if self.equal_bodies {
            return drawn.clone();
        }
        let n = self.bodies.fetch_add(1, Ordering::Relaxed);
        let priority = 15 * (n % 2);
        format!(r#"{{"n":{n},"priority":{priority}}}"#).into()
    }

    fn priority(&self, drawn: i16) -> i16 {
        let priorities = &self.guarantees.priorities;
        match priorities.len() {
            0 => drawn,
            count => priorities[usize::from(drawn.unsigned_abs()) % count],
        }
    }
}

#[async_trait]
impl Layer for Fit {
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let call = self.fit(call);
        self.guarantees.check(&call)?;
        queue.call(call).await
    }
}
