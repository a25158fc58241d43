//! Work other than acks: messages that fail, that wait beside the list, or whose leases expire.

use std::time::Duration;

use queue_core::{QueueKind, Settlement};
use tokio::time::sleep;

use super::cycle::settle_and_lease;
use crate::{
    kinds::LeasingQueue,
    redis::{
        ours::{count, fill, lease, open},
        plain::List,
    },
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
};

/// Messages of one `settle_and_lease`.
const BATCH: usize = 10;
/// The delay of a retry.
const DELAY: Duration = Duration::from_millis(10);
/// A lease that expires while the consumer works on.
const SHORT: Duration = Duration::from_millis(1);
/// Messages that came back and are behind the pushed messages.
const STANDING: usize = 100;

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "slow",
    about: "settle_and_lease of ten on a reliable queue; one client",
    axis: None,
    figures: &[Figure::JOBS, Figure::SERVER],
    pairs: 7,
    cases,
};

/// The events besides acks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slowdown {
    None,
    /// Every tenth message fails, and comes again later.
    Retries,
    /// Failed messages are behind the others all the time.
    Line,
    /// The lease of one in a hundred expires.
    Expiry,
}

impl Slowdown {
    const ALL: [Self; 4] = [Self::None, Self::Retries, Self::Line, Self::Expiry];

    const fn name(self) -> &'static str {
        match self {
            Self::None => "acks alone",
            Self::Retries => "10 % retried",
            Self::Line => "a standing line",
            Self::Expiry => "1 % expired",
        }
    }

    const fn raw_name(self) -> &'static str {
        match self {
            Self::None | Self::Line => "a script that takes + LREM",
            Self::Retries => "the same, a tenth RPUSHed again",
            Self::Expiry => "the same, 1 % moved back",
        }
    }

    /// Whether a lease is left to expire before this round.
    fn strikes(self, round: usize) -> bool {
        self == Self::Expiry && round.is_multiple_of(100 / BATCH)
    }
}

fn cases() -> Vec<ScenarioCase> {
    let case = |slowdown: Slowdown| {
        ScenarioCase::new(slowdown.name(), slowdown.raw_name(), move |stage| {
            sides(stage, slowdown)
        })
    };
    Slowdown::ALL.map(case).into()
}

fn sides(stage: &Stage, slowdown: Slowdown) -> Sides<'_> {
    let rounds = stage.effort.pick(20, 2_000);
    Sides::new(
        move || ours(stage, slowdown, rounds),
        move || raw(stage, slowdown, rounds),
    )
}

fn ours(stage: &Stage, slowdown: Slowdown, rounds: usize) -> Vec<f64> {
    stage.named(|name| {
        let runtime = &stage.fixture.runtime;
        let (queue, mut held) = runtime.block_on(async {
            let queue = open(&stage.fixture.backend, name, QueueKind::Reliable).await;
            // More than are ever taken, so that the messages that came back stay behind.
            fill(&queue, (rounds + 1) * BATCH + 2 * STANDING).await;
            if slowdown == Slowdown::Line {
                line_up(&queue).await;
            }
            let held = lease(queue.leasing(), BATCH).await;
            (queue, held)
        });
        let work = async {
            for round in 0..rounds {
                if slowdown == Slowdown::Retries {
                    held[0] = Settlement::retry(held[0].receipt, DELAY);
                }
                if slowdown.strikes(round) {
                    let left = queue.leasing().lease(count(1), SHORT).await;
                    assert_eq!(left.expect("leased").deliveries.len(), 1);
                }
                held = settle_and_lease(&queue, &held, BATCH).await;
            }
        };
        stage.spend(rounds * BATCH, work).both()
    })
}

/// Lets messages fail, and waits until they are ready again, which is behind all others.
async fn line_up(queue: &LeasingQueue) {
    let leased = lease(queue.leasing(), STANDING).await;
    let failed = leased
        .iter()
        .map(|held| Settlement::retry(held.receipt, SHORT));
    let settled = queue.leasing().settle(&failed.collect::<Vec<_>>()).await;
    settled.expect("settled");
    loop {
        let depth = queue.leasing().depth().await.expect("the depth");
        if depth.delayed == 0 {
            return;
        }
        sleep(SHORT).await;
    }
}

fn raw(stage: &Stage, slowdown: Slowdown, rounds: usize) -> Vec<f64> {
    stage.named(|name| {
        let runtime = &stage.fixture.runtime;
        let mut list = runtime.block_on(async {
            let mut list = List::open(stage.fixture.raw.clone(), name).await;
            list.fill((rounds + 1) * BATCH + 2 * STANDING).await;
            list.take(BATCH).await;
            list
        });
        let again = usize::from(slowdown == Slowdown::Retries);
        let work = async {
            for round in 0..rounds {
                if slowdown.strikes(round) {
                    list.take_and_give_back().await;
                }
                list.settle_and_lease_with(BATCH, again).await;
            }
        };
        stage.spend(rounds * BATCH, work).both()
    })
}
