//! The cost of a job while many others wait.

use std::{cell::OnceCell, fmt};

use queue_core::QueueKind;
use redis::aio::MultiplexedConnection;

use super::cycle::raw_name;
use crate::{
    kinds::LeasingQueue,
    redis::{
        ours::{lease, open, settle},
        raw::LATER,
    },
    report::{
        meter::{Spent, Stage},
        plain::{List, Zset},
        scenario::{Axis, Case, Figure, Scenario, Sides},
    },
};

/// Messages of a call.
const BATCH: usize = 10;

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "backlog",
    about: "a push, a lease and a settlement of ten each, while many messages wait; one client. On \
            delay and priority queues the others are due later or less urgent",
    axis: Axis::Names,
    figures: &[Figure::SERVER, Figure::JOBS],
    pairs: 7,
    cases,
};

fn cases() -> Vec<Case> {
    let case = |kind: QueueKind, size: usize, shown: &str| {
        let name = format!("{kind}, {shown}");
        Case::named(name, raw_name(kind), move |stage| sides(stage, kind, size))
    };
    let both = |kind| [case(kind, 10_000, "10⁴"), case(kind, 1_000_000, "10⁶")];
    QueueKind::LEASING.into_iter().flat_map(both).collect()
}

fn sides(stage: &Stage, kind: QueueKind, size: usize) -> Sides<'_> {
    let rounds = stage.effort.pick(5, 1_000);
    // A thousandth keeps the one size larger than the other.
    let size = stage.effort.pick(size / 1_000, size);
    let ours = Filled::new(stage, move |name| {
        stage.fixture.runtime.block_on(async {
            let queue = open(&stage.fixture.backend, name, kind).await;
            queue.fill(size).await;
            queue
        })
    });
    let raw = Filled::new(stage, move |name| {
        let filled = Plain::filled(stage.fixture.raw.clone(), kind, name, size);
        stage.fixture.runtime.block_on(filled)
    });
    let both = |spent: Spent| vec![spent.server_micros(), spent.rate()];
    Sides::new(
        move || both(stage.spend(rounds * BATCH, cycles(ours.get(), rounds))),
        move || both(stage.spend(rounds * BATCH, raw.get().clone().cycles(rounds))),
    )
}

async fn cycles(queue: &LeasingQueue, rounds: usize) {
    for _ in 0..rounds {
        queue.put(BATCH).await;
        let held = lease(queue.leasing(), BATCH).await;
        settle(queue.leasing(), &held).await;
    }
}

/// The raw structure of a kind.
#[derive(Debug, Clone)]
enum Plain {
    List(List),
    Zset(Zset),
}

impl Plain {
    async fn filled(link: MultiplexedConnection, kind: QueueKind, name: &str, size: usize) -> Self {
        match kind {
            QueueKind::Reliable | QueueKind::Bounded => {
                let mut list = List::open(link, name).await;
                list.fill(size).await;
                Self::List(list)
            }
            _ => {
                let mut zset = Zset::open(link, name).await;
                zset.fill_at(LATER, size).await;
                Self::Zset(zset)
            }
        }
    }

    async fn cycles(mut self, rounds: usize) {
        for _ in 0..rounds {
            match &mut self {
                Self::List(list) => {
                    list.push(BATCH).await;
                    list.take(BATCH).await;
                    list.delete(BATCH).await;
                }
                Self::Zset(zset) => {
                    zset.push(BATCH).await;
                    zset.take(BATCH).await;
                }
            }
        }
    }
}

/// What its first measurement fills, and whose keys go with it.
struct Filled<'a, T> {
    stage: &'a Stage,
    name: String,
    fill: Box<dyn Fn(&str) -> T + 'a>,
    filled: OnceCell<T>,
}

impl<'a, T> Filled<'a, T> {
    fn new(stage: &'a Stage, fill: impl Fn(&str) -> T + 'a) -> Self {
        Self {
            stage,
            name: stage.fixture.fresh(),
            fill: Box::new(fill),
            filled: OnceCell::new(),
        }
    }

    fn get(&self) -> &T {
        self.filled.get_or_init(|| (self.fill)(&self.name))
    }
}

impl<T> fmt::Debug for Filled<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl<T> Drop for Filled<'_, T> {
    fn drop(&mut self) {
        if self.filled.get().is_some() {
            self.stage.fixture.clear(&self.name);
        }
    }
}
