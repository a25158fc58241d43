//! Our side: queues on the backend, through the traits.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

use queue_core::{
    Backend, BoundedConfig, DelayConfig, Delivery, Insert, Leasing, PriorityConfig, QueueName,
    ReliableConfig, RotatingConfig, RotatingQueue, Settled, Settlement,
};

use super::{
    cost::Cost,
    stand::{Shape, Stand},
};
use crate::{
    kinds::{BODY, Subject},
    pairs::Work,
};

/// Long enough that none expires while it is measured.
pub const LEASE: Duration = Duration::from_secs(600);

/// The most that one call takes.
const MOST: usize = 128;

/// A leasing kind of queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// First in, first out.
    Reliable,
    /// Of a length that is never reached.
    Bounded,
    /// Due at once.
    Delay,
    /// Sixteen priorities.
    Priority,
}

impl Kind {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Reliable, Self::Bounded, Self::Delay, Self::Priority];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Bounded => "bounded",
            Self::Delay => "delay",
            Self::Priority => "priority",
        }
    }

    /// Opens a queue of this kind.
    ///
    /// # Panics
    ///
    /// If it cannot be opened.
    pub async fn open(self, backend: &impl Backend, name: &str) -> Subject {
        let name = QueueName::new(name).expect("the name is allowed");
        let opened = "the queue opens";
        match self {
            Self::Reliable => {
                let config = ReliableConfig::default();
                let queue = backend.open_reliable(&name, &config);
                Subject::Reliable(queue.await.expect(opened))
            }
            Self::Bounded => {
                let config = BoundedConfig::new(u32::MAX as usize);
                let queue = backend.open_bounded(&name, &config);
                Subject::Bounded(queue.await.expect(opened))
            }
            Self::Delay => {
                let config = DelayConfig::default();
                let queue = backend.open_delay(&name, &config);
                Subject::Delay(queue.await.expect(opened))
            }
            Self::Priority => {
                let config = PriorityConfig::default();
                let queue = backend.open_priority(&name, &config);
                Subject::Priority(queue.await.expect(opened))
            }
        }
    }
}

/// Opens a ring.
///
/// # Panics
///
/// If it cannot be opened.
pub async fn open_ring(backend: &impl Backend, name: &str) -> Arc<dyn RotatingQueue> {
    let name = QueueName::new(name).expect("the name is allowed");
    let config = RotatingConfig::default();
    let ring = backend.open_rotating(&name, &config);
    ring.await.expect("the ring opens")
}

/// What leases in any kind.
pub fn leasing(subject: &Subject) -> &dyn Leasing {
    match subject {
        Subject::Reliable(queue) => &**queue,
        Subject::Delay(queue) => &**queue,
        Subject::Priority(queue) => &**queue,
        Subject::Bounded(queue) => &**queue,
    }
}

/// A count that is not zero.
///
/// # Panics
///
/// If it is.
pub fn count(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("at least one")
}

/// Puts in so many messages that are ready.
pub async fn fill(subject: &Subject, messages: usize) {
    for start in (0..messages).step_by(MOST) {
        subject.put(MOST.min(messages - start)).await;
    }
}

async fn fill_ring(ring: &dyn RotatingQueue, items: usize) {
    for start in (0..items).step_by(MOST) {
        insert(ring, MOST.min(items - start)).await;
    }
}

async fn insert(ring: &dyn RotatingQueue, items: usize) {
    let batch: Vec<_> = (0..items).map(|_| Insert::new(BODY)).collect();
    ring.insert(&batch).await.expect("inserted");
}

fn receipts(deliveries: &[Delivery]) -> Vec<Settlement> {
    let receipts = deliveries.iter().map(|delivery| delivery.receipt);
    receipts.map(Settlement::ack).collect()
}

/// Leases exactly so many.
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

/// Puts batches in.
pub fn push(stand: &Stand, kind: Kind, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        stand.runtime.block_on(async {
            let subject = kind.open(&stand.backend, name).await;
            let caller = || {
                let subject = subject.clone();
                async move {
                    for _ in 0..rounds {
                        subject.put(shape.batch).await;
                    }
                }
            };
            shape.time(caller).await
        })
    })
}

/// Leases batches and settles each, in two calls.
pub fn lease_and_settle(stand: &Stand, kind: Kind, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        stand.runtime.block_on(async {
            let subject = kind.open(&stand.backend, name).await;
            fill(&subject, rounds as usize * shape.messages()).await;
            let caller = || {
                let subject = subject.clone();
                async move {
                    let queue = leasing(&subject);
                    for _ in 0..rounds {
                        let leased = lease(queue, shape.batch).await;
                        settle(queue, &leased).await;
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
pub fn turn(stand: &Stand, kind: Kind, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        stand.runtime.block_on(async {
            let subject = kind.open(&stand.backend, name).await;
            fill(&subject, (rounds as usize + 1) * shape.messages()).await;
            let mut held = Vec::new();
            for _ in 0..shape.in_flight {
                held.push(lease(leasing(&subject), shape.batch).await);
            }
            let caller = || {
                let subject = subject.clone();
                let mut held = held.pop().expect("one for each");
                async move {
                    for _ in 0..rounds {
                        let turn = leasing(&subject).turn(&held, count(shape.batch), LEASE);
                        let (settled, leased) = turn.await.expect("turned");
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

/// Puts in, leases and settles one batch after the other.
pub fn cycle<'a>(stand: &'a Stand, kind: Kind, batch: usize, cost: &'a Cost) -> Work<'a> {
    measured(stand, move |name, rounds| {
        let subject = stand.runtime.block_on(kind.open(&stand.backend, name));
        cost.of(stand, &["evalsha"], rounds * batch as u64, || {
            stand.runtime.block_on(cycles(&subject, batch, rounds))
        })
    })
}

/// The same, on a queue that has a backlog already.
pub fn cycle_behind<'a>(
    stand: &'a Stand,
    subject: &'a Subject,
    batch: usize,
    cost: &'a Cost,
) -> Work<'a> {
    Box::new(move |rounds| {
        cost.of(stand, &["evalsha"], rounds * batch as u64, || {
            stand.runtime.block_on(cycles(subject, batch, rounds))
        })
    })
}

async fn cycles(subject: &Subject, batch: usize, rounds: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..rounds {
        subject.put(batch).await;
        let leased = lease(leasing(subject), batch).await;
        settle(leasing(subject), &leased).await;
    }
    start.elapsed()
}

/// Puts items into a ring.
pub fn ring_insert(stand: &Stand, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        stand.runtime.block_on(async {
            let ring = open_ring(&stand.backend, name).await;
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

/// Visits the items of a ring of so many.
///
/// # Panics
///
/// If the ring refuses.
pub fn ring_rotate(stand: &Stand, items: usize, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        stand.runtime.block_on(async {
            let ring = open_ring(&stand.backend, name).await;
            fill_ring(&*ring, items).await;
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

/// Work with a name of its own each time, whose keys are deleted afterwards.
pub(super) fn measured<'a>(
    stand: &'a Stand,
    mut work: impl FnMut(&str, u64) -> Duration + 'a,
) -> Work<'a> {
    Box::new(move |rounds| {
        let name = stand.fresh();
        let time = work(&name, rounds);
        stand.clear(&name);
        time
    })
}
