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
    steps::id,
};

openers!(open_bounded: bounded_with, try_bounded, BoundedConfig, BoundedQueue);

impl Stage<'_> {
    pub(crate) async fn bounded(&self, capacity: usize) -> Arc<dyn BoundedQueue> {
        self.bounded_with(BoundedConfig::new(capacity)).await
    }
}

/// Offers the given number of messages, which must fit.
async fn fill(queue: &Arc<dyn BoundedQueue>, count: usize) {
    for _ in 0..count {
        let offered = offer(queue, Overflow::Reject).await;
        assert!(
            matches!(offered, Offered::Accepted { evicted: None, .. }),
            "{offered:?}"
        );
    }
}

/// Offers one message, for which the queue makes no room.
async fn put(queue: &Arc<dyn BoundedQueue>, offer: impl Into<Offer> + Send) -> Offered {
    let offered = queue.offer_one(offer, Overflow::Reject).await;
    offered.expect("offers")
}

/// An offer that replaces the offer before it (B7).
fn keyed(push: impl Into<Push>) -> Offer {
    Offer::new(push).with_distinct("key")
}

async fn offer(queue: &Arc<dyn BoundedQueue>, overflow: Overflow) -> Offered {
    queue.offer_one("x", overflow).await.expect("offers")
}

pub(super) const fn accepted(number: u64) -> Offered {
    Offered::Accepted {
        id: MessageId::new(number),
        evicted: None,
    }
}

const fn replacing(number: u64, replaced: u64) -> Offered {
    Offered::Replaced {
        id: MessageId::new(number),
        replaced: MessageId::new(replaced),
    }
}

fn evicting(number: u64, evicted: u64) -> Offered {
    Offered::Accepted {
        id: id(number),
        evicted: Some(id(evicted)),
    }
}
