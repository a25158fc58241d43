//! The cost of a job while many others wait.

use queue_core::QueueKind;

use super::cycle::raw_name;
use crate::{
    kinds::LeasingQueue,
    redis::{
        fixture::Kept,
        ours::{cycles, open},
        plain::{LATER, List, Zset},
    },
    report::{
        meter::{Spent, Stage},
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
};

/// Messages of a call.
const BATCH: usize = 10;

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "backlog",
    about: "a push, a lease and a settlement of ten each, while many messages wait; one client. On \
            delay and priority queues the others are due later or less urgent",
    axis: None,
    figures: &[Figure::SERVER, Figure::JOBS],
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |kind: QueueKind, size: usize, shown: &str| {
        let name = format!("{kind}, {shown}");
        ScenarioCase::new(name, raw_name(kind), move |stage| sides(stage, kind, size))
    };
    let both = |kind| [case(kind, 10_000, "10⁴"), case(kind, 1_000_000, "10⁶")];
    // A backlog of groups is other than one long line, and has no raw counterpart yet.
    let of_one_line = |kind: &QueueKind| *kind != QueueKind::Grouped;
    let kinds = QueueKind::LEASING.into_iter().filter(of_one_line);
    kinds.flat_map(both).collect()
}

fn sides(stage: &Stage, kind: QueueKind, size: usize) -> Sides<'_> {
    let rounds = stage.effort.pick(5, 1_000);
    // A thousandth of the sizes still keeps one larger than the other.
    let size = stage.effort.pick(size / 1_000, size);
    let (ours, raw) = (Kept::new(&stage.fixture), Kept::new(&stage.fixture));
    let both = |spent: Spent| vec![spent.server_micros(), spent.rate()];
    Sides::new(
        move || {
            let queue = ours.get(|name| filled(stage, kind, name, size));
            both(stage.spend(rounds * BATCH, cycles(queue, BATCH, rounds as u64)))
        },
        move || {
            let plain = raw.get(|name| Plain::filled(stage, kind, name, size));
            both(stage.spend(rounds * BATCH, plain.clone().cycles(rounds)))
        },
    )
}

fn filled(stage: &Stage, kind: QueueKind, name: &str, size: usize) -> LeasingQueue {
    stage.fixture.runtime.block_on(async {
        let queue = open(&stage.fixture.backend, name, kind).await;
        queue.fill(size).await;
        queue
    })
}

/// The raw structure of a kind.
#[derive(Debug, Clone)]
enum Plain {
    List(List),
    Zset(Zset),
}

impl Plain {
    fn filled(stage: &Stage, kind: QueueKind, name: &str, size: usize) -> Self {
        let link = stage.fixture.raw.clone();
        stage.fixture.runtime.block_on(async {
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
        })
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
