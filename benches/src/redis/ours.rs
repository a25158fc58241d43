//! Our side: queues on the Redis backend, through the traits.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use queue_core::{Backend, Delivery, Leasing, QueueKind, Settled, Settlement};

use super::{
    cost::Cost,
    fixture::{Fixture, Shape},
};
use crate::{
    kinds::{LeasingQueue, MOST, insert, ring},
    pairs::Work,
};

/// Long enough that no lease expires during a measurement.
pub const LEASE: Duration = Duration::from_secs(600);

/// The capacity of a bounded queue, which is never reached.
const AMPLE: usize = u32::MAX as usize;

/// Opens a queue of this kind.
///
/// # Panics
///
/// If it cannot be opened.
pub async fn open(backend: &impl Backend, name: &str, kind: QueueKind) -> LeasingQueue {
    LeasingQueue::open(backend, name, kind, AMPLE).await
}

/// A count that is not zero.
///
/// # Panics
///
/// If it is.
pub fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("at least one")
}

/// Pushes the given number of ready messages.
pub async fn fill(queue: &LeasingQueue, messages: usize) {
    for start in (0..messages).step_by(MOST) {
        queue.put(MOST.min(messages - start)).await;
    }
}

fn receipts(deliveries: &[Delivery]) -> Vec<Settlement> {
    let receipts = deliveries.iter().map(|delivery| delivery.receipt);
    receipts.map(Settlement::ack).collect()
}

/// Leases exactly `batch` messages.
///
/// # Panics
///
/// If there are fewer.
pub async fn lease(queue: &dyn Leasing, batch: usize) -> Vec<Settlement> {
    let leased = queue.lease(count(batch), LEASE).await.expect("leased");
    assert_eq!(leased.deliveries.len(), batch);
    receipts(&leased.deliveries)
}

/// Acks these.
///
/// # Panics
///
/// If a lease is lost.
pub async fn settle(queue: &dyn Leasing, settlements: &[Settlement]) {
    let settled = queue.settle(settlements).await.expect("settled");
    assert!(settled.iter().all(|settled| *settled == Settled::Done));
}

/// Pushes batches.
pub fn push(fixture: &Fixture, kind: QueueKind, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        fixture.runtime.block_on(async {
            let queue = open(&fixture.backend, name, kind).await;
            let caller = || {
                let queue = queue.clone();
                async move {
                    for _ in 0..rounds {
                        queue.put(shape.batch).await;
                    }
                }
            };
            shape.time(caller).await
        })
    })
}

/// Settles a batch and leases the next, in one call.
///
/// # Panics
///
/// If the queue refuses.
pub fn settle_and_lease(fixture: &Fixture, kind: QueueKind, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        fixture.runtime.block_on(async {
            let queue = open(&fixture.backend, name, kind).await;
            fill(&queue, (rounds as usize + 1) * shape.messages()).await;
            let mut held = Vec::new();
            for _ in 0..shape.in_flight {
                held.push(lease(queue.leasing(), shape.batch).await);
            }
            let caller = || {
                let queue = queue.clone();
                let mut held = held.pop().expect("one for each");
                async move {
                    for _ in 0..rounds {
                        let call = queue.leasing().settle_and_lease(
                            &held,
                            count(shape.batch),
                            LEASE,
                            None,
                        );
                        let (settled, leased) = call.await.expect("settled and leased");
                        assert!(settled.iter().all(|settled| *settled == Settled::Done));
                        assert_eq!(leased.deliveries.len(), shape.batch);
                        held = receipts(&leased.deliveries);
                    }
                }
            };
            shape.time(caller).await
        })
    })
}

/// Pushes, leases and settles one batch after the other.
pub fn cycle<'a>(fixture: &'a Fixture, kind: QueueKind, batch: usize, cost: &'a Cost) -> Work<'a> {
    measured(fixture, move |name, rounds| {
        let queue = fixture.runtime.block_on(open(&fixture.backend, name, kind));
        cost.of(fixture, &["evalsha"], rounds * batch as u64, || {
            let start = Instant::now();
            fixture.runtime.block_on(cycles(&queue, batch, rounds));
            start.elapsed()
        })
    })
}

/// Pushes, leases and settles a batch the given number of times.
///
/// # Panics
///
/// If the queue refuses.
pub async fn cycles(queue: &LeasingQueue, batch: usize, rounds: u64) {
    for _ in 0..rounds {
        queue.put(batch).await;
        let leased = lease(queue.leasing(), batch).await;
        settle(queue.leasing(), &leased).await;
    }
}

/// Puts items into a ring.
pub fn ring_insert(fixture: &Fixture, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        fixture.runtime.block_on(async {
            let ring = ring(&fixture.backend, name, 0).await;
            let caller = || {
                let ring = Arc::clone(&ring);
                async move {
                    for _ in 0..rounds {
                        insert(&*ring, shape.batch).await;
                    }
                }
            };
            shape.time(caller).await
        })
    })
}

/// Visits the items of a ring of this size.
///
/// # Panics
///
/// If the ring refuses.
pub fn ring_rotate(fixture: &Fixture, items: usize, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        fixture.runtime.block_on(async {
            let ring = ring(&fixture.backend, name, items).await;
            let caller = || {
                let ring = Arc::clone(&ring);
                async move {
                    for _ in 0..rounds {
                        let rotated = ring.rotate(count(shape.batch)).await.expect("rotated");
                        assert_eq!(rotated.items.len(), shape.batch);
                    }
                }
            };
            shape.time(caller).await
        })
    })
}

/// Work under a new name each time, whose keys this deletes afterwards.
pub(super) fn measured<'a>(
    fixture: &'a Fixture,
    mut work: impl FnMut(&str, u64) -> Duration + 'a,
) -> Work<'a> {
    Box::new(move |rounds| {
        let name = fixture.fresh();
        let time = work(&name, rounds);
        fixture.clear(&name);
        time
    })
}
