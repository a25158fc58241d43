//! A worker's jobs, from the push to the ack: messages are pushed in batches, and a worker with a
//! handler that does nothing works them off.

use queue_core::QueueKind;

use crate::{
    redis::{
        fixture::Shape,
        ours::{fill, open},
        plain::List,
    },
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
    work_off::work_off,
};

/// The most that one call takes.
const MOST: usize = 128;
const RAW: &str = "RPUSH of 128; LMOVE + LREM, from 16 on by a script";

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "worker",
    about: "a worker on a reliable queue, from the push in batches of 128 to the ack",
    axis: Some("slots of the worker"),
    figures: &[Figure::JOBS, Figure::SERVER],
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case =
        |slots: usize| ScenarioCase::new(slots.to_string(), RAW, move |stage| sides(stage, slots));
    [1, 16, 64, 256].map(case).into()
}

fn sides(stage: &Stage, slots: usize) -> Sides<'_> {
    let shape = Shape::new(slots.min(MOST), slots.div_ceil(MOST));
    let jobs = stage
        .effort
        .pick(512, if slots == 1 { 10_240 } else { 40_960 });
    Sides::new(
        move || ours(stage, slots, jobs),
        move || raw(stage, shape, jobs),
    )
}

fn ours(stage: &Stage, slots: usize, jobs: usize) -> Vec<f64> {
    stage.named(|name| {
        let opened = open(&stage.fixture.backend, name, QueueKind::Reliable);
        let queue = stage.fixture.runtime.block_on(opened);
        let work = async {
            fill(&queue, jobs).await;
            work_off(&queue, slots, jobs, |_body| async {}).await;
        };
        stage.spend(jobs, work).both()
    })
}

/// As many bodies at once as the worker has slots, in as many calls as they fit into.
fn raw(stage: &Stage, shape: Shape, jobs: usize) -> Vec<f64> {
    stage.named(|name| {
        let fixture = &stage.fixture;
        let opened = List::open(fixture.raw.clone(), name);
        let list = fixture.runtime.block_on(opened);
        let rounds = jobs / shape.messages();
        let work = async {
            list.clone().fill_by(MOST, jobs).await;
            let caller = || {
                let mut list = list.clone();
                async move {
                    list.take(shape.batch).await;
                    for _ in 1..rounds {
                        list.settle_and_lease(shape.batch).await;
                    }
                    list.delete(shape.batch).await;
                }
            };
            shape.time(caller).await;
        };
        stage.spend(jobs, work).both()
    })
}
