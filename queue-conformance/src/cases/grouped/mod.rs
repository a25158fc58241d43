//! Grouped queues: G1 to G6, and the rates of groups (Q3).

mod groups;
mod order;
mod rates;
mod rules;
mod turns;
mod wakes;

use std::sync::Arc;

use queue_core::*;

pub(super) use self::{groups::*, order::*, rates::*, rules::*, turns::*, wakes::*};
use crate::stage::{Stage, openers};

openers!(open_grouped: grouped_with, try_grouped, GroupedConfig, GroupedQueue);

impl Stage<'_> {
    /// A queue in strict order.
    pub(crate) async fn grouped(&self) -> Arc<dyn GroupedQueue> {
        self.grouped_with(GroupedConfig::default()).await
    }
}

/// By id: on a queue of several partitions each has its own turns.
fn sorted(mut deliveries: Vec<Delivery>) -> Vec<Delivery> {
    deliveries.sort_by_key(Delivery::id);
    deliveries
}

/// The groups as they are shown.
async fn groups(queue: &dyn GroupedQueue) -> Vec<Group> {
    queue.groups(Page::first(10)).await.expect("shows").entries
}

/// Pushes a message to each of these groups, in one batch.
async fn push(queue: &dyn GroupedQueue, keys: &[&str]) {
    let of = |key: &&str| Push::new("x").with_group(key.to_string());
    let batch: Vec<Push> = keys.iter().map(of).collect();
    queue.push(&batch).await.expect("is accepted");
}

/// Leases one message for each number, and acks it.
async fn next(queue: &dyn GroupedQueue, count: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let delivery = crate::steps::take_one(queue).await;
        crate::steps::ack(queue, &delivery).await;
        ids.push(delivery.id().get());
    }
    ids
}
