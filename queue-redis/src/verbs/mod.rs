//! The verbs of each kind of queue. A verb is one call of one script: its arguments, its script and its reply.

mod batch_leases;
mod bounded;
mod cursors;
mod delay;
mod grouped;
mod kind;
mod lease_batcher;
mod leasing;
mod once;
mod priority;
mod push;
mod reliable;
mod rotating;
mod settle_and_lease;

use std::sync::Arc;

use queue_core::{AnyQueue, QueueConfig, QueueKind, QueueName, Result, limits};
use redis_link::batching::BatchLimit;

pub(crate) use self::{
    bounded::{Bounded, ensure_capacity, reconfigure},
    leasing::Queue,
    once::Once,
};
use self::{
    delay::Delay, grouped::Grouped, priority::Priority, reliable::Reliable, rotating::Ring,
};
use crate::{queue::Handle, script::Script, scripts};

/// The largest call of several callers.
const BATCH: BatchLimit = BatchLimit {
    entries: limits::MAX_BATCH,
    bytes: limits::MAX_BATCH_BYTES,
};

/// The queue of this configuration behind an opened handle.
pub(crate) fn behind(handle: Handle, config: &QueueConfig) -> Result<AnyQueue> {
    let max_body = config.max_body();
    Ok(match config.kind() {
        QueueKind::Reliable => {
            AnyQueue::Reliable(Arc::new(Queue::<Reliable>::new(handle, max_body)))
        }
        QueueKind::Delay => AnyQueue::Delay(Arc::new(Queue::<Delay>::new(handle, max_body))),
        QueueKind::Priority => {
            AnyQueue::Priority(Arc::new(Queue::<Priority>::new(handle, max_body)))
        }
        QueueKind::Grouped => AnyQueue::Grouped(Arc::new(Queue::<Grouped>::new(handle, max_body))),
        QueueKind::Bounded => AnyQueue::Bounded(Arc::new(Queue::<Bounded>::new(handle, max_body))),
        QueueKind::Rotating => AnyQueue::Rotating(Arc::new(Ring::new(handle, max_body))),
        other => return Err(other.missing(&handle.name)),
    })
}

/// The script that stores another configuration of this kind.
pub(crate) fn reconfigure_script(kind: QueueKind, name: &QueueName) -> Result<&'static Script> {
    Ok(match kind {
        QueueKind::Reliable => &scripts::RELIABLE.reconfigure,
        QueueKind::Delay => &scripts::DELAY.reconfigure,
        QueueKind::Priority => &scripts::PRIORITY.reconfigure,
        QueueKind::Grouped => &scripts::GROUPED.reconfigure,
        QueueKind::Bounded => &scripts::BOUNDED.reconfigure,
        QueueKind::Rotating => &scripts::ROTATING_RECONFIGURE,
        other => return Err(other.missing(name)),
    })
}
