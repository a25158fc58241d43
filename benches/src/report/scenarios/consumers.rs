//! Several consumers of one queue, each on connections of its own, as processes have them.

use std::cell::OnceCell;

use queue_core::QueueKind;
use queue_redis::RedisBackend;
use redis::aio::MultiplexedConnection;

use super::cycle::settle_and_lease;
use crate::{
    redis::{
        fixture::Shape,
        ours::{fill, lease, open, settle},
        plain::List,
    },
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
};

/// Messages of one `settle_and_lease`.
const BATCH: usize = 10;
const RAW: &str = "a script that takes + LREM";

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "consumers",
    about: "settle_and_lease of ten on a reliable queue, each consumer on a connection of its own",
    axis: Some("consumers"),
    figures: &[Figure::JOBS, Figure::SERVER],
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |consumers: usize| {
        ScenarioCase::new(consumers.to_string(), RAW, move |stage| {
            sides(stage, consumers)
        })
    };
    [1, 2, 4, 8, 16].map(case).into()
}

fn sides(stage: &Stage, consumers: usize) -> Sides<'_> {
    let rounds = stage.effort.pick(32, 4_000) / consumers;
    let shape = Shape::new(BATCH, consumers);
    let backends = OnceCell::<Vec<RedisBackend>>::new();
    let links = OnceCell::<Vec<MultiplexedConnection>>::new();
    let fixture = &stage.fixture;
    Sides::new(
        move || {
            let backends = backends.get_or_init(|| {
                let each = (0..consumers).map(|_| fixture.connect_backend());
                each.collect()
            });
            ours(stage, shape, rounds, backends)
        },
        move || {
            let links = links.get_or_init(|| {
                let each = (0..consumers).map(|_| fixture.connect());
                each.collect()
            });
            raw(stage, shape, rounds, links)
        },
    )
}

fn ours(stage: &Stage, shape: Shape, rounds: usize, backends: &[RedisBackend]) -> Vec<f64> {
    stage.named(|name| {
        let jobs = rounds * shape.messages();
        let runtime = &stage.fixture.runtime;
        let mut consumers = runtime.block_on(async {
            let queue = open(&stage.fixture.backend, name, QueueKind::Reliable).await;
            fill(&queue, jobs).await;
            let mut consumers = Vec::new();
            for backend in backends {
                consumers.push(open(backend, name, QueueKind::Reliable).await);
            }
            consumers
        });
        let caller = || {
            let queue = consumers.pop().expect("one for each");
            async move {
                let mut held = lease(queue.leasing(), BATCH).await;
                for _ in 1..rounds {
                    held = settle_and_lease(&queue, &held, BATCH).await;
                }
                settle(queue.leasing(), &held).await;
            }
        };
        let work = async {
            shape.time(caller).await;
        };
        stage.spend(jobs, work).both()
    })
}

fn raw(stage: &Stage, shape: Shape, rounds: usize, links: &[MultiplexedConnection]) -> Vec<f64> {
    stage.named(|name| {
        let jobs = rounds * shape.messages();
        let runtime = &stage.fixture.runtime;
        let mut consumers = runtime.block_on(async {
            let mut consumers = Vec::new();
            for link in links {
                consumers.push(List::open(link.clone(), name).await);
            }
            consumers[0].fill(jobs).await;
            consumers
        });
        let caller = || {
            let mut list = consumers.pop().expect("one for each");
            async move {
                list.take(BATCH).await;
                for _ in 1..rounds {
                    list.settle_and_lease(BATCH).await;
                }
                list.delete(BATCH).await;
            }
        };
        let work = async {
            shape.time(caller).await;
        };
        stage.spend(jobs, work).both()
    })
}
