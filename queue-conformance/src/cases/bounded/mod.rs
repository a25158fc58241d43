//! Bounded queues: B1 to B7.

mod capacity;
mod counting;
mod distinct;
mod due;
mod outdating;
mod overflow;
mod recent;
mod room;
mod unique;

use std::sync::Arc;

use queue_core::*;

pub(super) use self::{
    capacity::*, counting::*, distinct::*, due::*, outdating::*, overflow::*, recent::*, room::*,
    unique::*,
};
use crate::{
    stage::{Stage, openers},
    steps::*,
};

openers!(open_bounded: bounded_with, try_bounded, BoundedConfig, BoundedQueue);

impl Stage<'_> {
    pub(crate) async fn bounded(&self, capacity: usize) -> Arc<dyn BoundedQueue> {
        self.bounded_with(BoundedConfig::new(capacity)).await
    }
}

/// Pushes the given number of messages, which must fit.
async fn fill(queue: &Arc<dyn BoundedQueue>, count: usize) {
    for _ in 0..count {
        let pushed = pushed(&**queue, "x").await;
        assert!(matches!(pushed, Pushed::Accepted(_)), "{pushed:?}");
    }
}

/// Pushes one message, for which the oldest makes room.
async fn cram(queue: &Arc<dyn BoundedQueue>, message: impl Into<Push> + Send) -> Pushed {
    cram_all(queue, &[message.into()]).await[0]
}

/// Pushes messages, for which the oldest make room.
async fn cram_all(queue: &Arc<dyn BoundedQueue>, batch: &[Push]) -> Vec<Pushed> {
    let batch = batch.iter().cloned();
    let batch: Vec<Push> = batch
        .map(|push| push.with_overflow(Overflow::DropOldest))
        .collect();
    queue.push(&batch).await.expect("pushes")
}

const fn evicting(number: u64, evicted: u64) -> Pushed {
    Pushed::Evicted {
        id: MessageId::new(number),
        evicted: MessageId::new(evicted),
    }
}
