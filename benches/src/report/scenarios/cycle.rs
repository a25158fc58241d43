//! Messages that are pushed in batches, and then leased and settled in batches of the same size by one
//! client: each call settles a batch and leases the next.

use queue_core::{QueueKind, Settled, Settlement};

use crate::{
    kinds::LeasingQueue,
    redis::{
        ours::{LEASE, count, lease, open},
        plain::{List, Zset},
    },
    report::{
        meter::Stage,
        scenario::{Figure, Sides},
    },
};

/// The figures of a cycle.
pub(super) const FIGURES: &[Figure] = &[
    Figure::more("pushes/s"),
    Figure::more("calls/s"),
    Figure::SERVER,
];

/// The raw commands of a cycle beside a queue of this kind.
pub(super) const fn raw_name(kind: QueueKind) -> &'static str {
    match kind {
        QueueKind::Reliable | QueueKind::Bounded => "RPUSH; LMOVE + LREM, in batches by a script",
        _ => "ZADD + HSET; a script that takes and deletes",
    }
}

/// Both sides of a cycle in batches of this size.
pub(super) fn sides(stage: &Stage, kind: QueueKind, batch: usize) -> Sides<'_> {
    let rounds = stage.effort.pick(8, (20_000 / batch).clamp(400, 4_000));
    Sides::new(
        move || ours(stage, kind, batch, rounds),
        move || match kind {
            QueueKind::Reliable | QueueKind::Bounded => list(stage, batch, rounds),
            _ => zset(stage, batch, rounds),
        },
    )
}

fn ours(stage: &Stage, kind: QueueKind, batch: usize, rounds: usize) -> Vec<f64> {
    stage.named(|name| {
        let runtime = &stage.fixture.runtime;
        let queue = runtime.block_on(open(&stage.fixture.backend, name, kind));
        let pushed = stage.spend((rounds + 1) * batch, async {
            for _ in 0..=rounds {
                queue.put(batch).await;
            }
        });
        let mut held = runtime.block_on(lease(queue.leasing(), batch));
        let worked = stage.spend(rounds * batch, async {
            for _ in 0..rounds {
                held = settle_and_lease(&queue, &held, batch).await;
            }
        });
        let micros = pushed.server_micros() + worked.server_micros();
        vec![pushed.rate(), worked.rate(), micros]
    })
}

fn list(stage: &Stage, batch: usize, rounds: usize) -> Vec<f64> {
    stage.named(|name| {
        let runtime = &stage.fixture.runtime;
        let mut list = runtime.block_on(List::open(stage.fixture.raw.clone(), name));
        let pushed = stage.spend((rounds + 1) * batch, async {
            for _ in 0..=rounds {
                list.push(batch).await;
            }
        });
        runtime.block_on(list.take(batch));
        let worked = stage.spend(rounds * batch, async {
            for _ in 0..rounds {
                list.settle_and_lease(batch).await;
            }
        });
        let micros = pushed.server_micros() + worked.server_micros();
        vec![pushed.rate(), worked.rate(), micros]
    })
}

fn zset(stage: &Stage, batch: usize, rounds: usize) -> Vec<f64> {
    stage.named(|name| {
        let runtime = &stage.fixture.runtime;
        let mut zset = runtime.block_on(Zset::open(stage.fixture.raw.clone(), name));
        let pushed = stage.spend(rounds * batch, async {
            for _ in 0..rounds {
                zset.push(batch).await;
            }
        });
        let worked = stage.spend(rounds * batch, async {
            for _ in 0..rounds {
                zset.take(batch).await;
            }
        });
        let micros = pushed.server_micros() + worked.server_micros();
        vec![pushed.rate(), worked.rate(), micros]
    })
}

/// Settles a batch and leases the next.
///
/// # Panics
///
/// If a lease is lost, or there are fewer messages.
pub(super) async fn settle_and_lease(
    queue: &LeasingQueue,
    held: &[Settlement],
    batch: usize,
) -> Vec<Settlement> {
    let call = queue
        .leasing()
        .settle_and_lease(held, count(batch), LEASE, None);
    let (settled, leased) = call.await.expect("settled and leased");
    assert!(settled.iter().all(|settled| *settled == Settled::Done));
    assert_eq!(leased.deliveries.len(), batch);
    let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
    receipts.map(Settlement::ack).collect()
}
