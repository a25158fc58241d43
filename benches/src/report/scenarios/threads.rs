//! Workers on runtimes of one and of two threads. A worker of one slot, as every worker is unless told otherwise, is
//! beside `settle_and_lease` in a loop; workers of more slots on two threads are beside the same on one.

use queue_core::QueueKind;
use tokio::runtime::{Builder, Runtime};

use super::cycle::settle_and_lease;
use crate::{
    redis::ours::{fill, lease, open},
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
    work_off::work_off,
};

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "threads",
    about: "the jobs of `worker`, by the slots of the worker and the threads of its runtime",
    axis: None,
    figures: &[Figure::JOBS, Figure::SERVER],
    pairs: 7,
    cases,
};

const LOOP: &str = "`settle_and_lease` in a loop, on the same runtime";
const ONE_THREAD: &str = "the same worker on one thread";

fn cases() -> Vec<ScenarioCase> {
    let lone = |(name, threads): (&str, usize)| {
        ScenarioCase::new(name, LOOP, move |stage| lone(stage, threads))
    };
    let several = |slots: usize| {
        let name = format!("{slots} slots, two threads");
        ScenarioCase::new(name, ONE_THREAD, move |stage| several(stage, slots))
    };
    let lone = [("1 slot, one thread", 1), ("1 slot, two threads", 2)].map(lone);
    lone.into_iter().chain([16, 64].map(several)).collect()
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().expect("a runtime starts")
}

fn lone(stage: &Stage, threads: usize) -> Sides<'_> {
    Sides::new(
        move || measure(stage, threads, 1, 10_240),
        move || bare(stage, threads, 10_240),
    )
}

fn several(stage: &Stage, slots: usize) -> Sides<'_> {
    Sides::new(
        move || measure(stage, 2, slots, 40_960),
        move || measure(stage, 1, slots, 40_960),
    )
}

fn measure(stage: &Stage, threads: usize, slots: usize, jobs: usize) -> Vec<f64> {
    let runtime = runtime(threads);
    let backend = stage.fixture.connect_backend_on(&runtime);
    let jobs = stage.effort.pick(512, jobs);
    stage.named(|name| {
        let queue = runtime.block_on(open(&backend, name, QueueKind::Reliable));
        let work = async {
            fill(&queue, jobs).await;
            work_off(&queue, slots, jobs, |_body| async {}).await;
        };
        stage.spend_on(&runtime, jobs, work).both()
    })
}

/// The calls of a worker of one slot: each settles a message and leases the next.
fn bare(stage: &Stage, threads: usize, jobs: usize) -> Vec<f64> {
    let runtime = runtime(threads);
    let backend = stage.fixture.connect_backend_on(&runtime);
    let jobs = stage.effort.pick(512, jobs);
    stage.named(|name| {
        let queue = runtime.block_on(open(&backend, name, QueueKind::Reliable));
        let work = async {
            fill(&queue, jobs).await;
            let mut held = lease(queue.leasing(), 1).await;
            for _ in 1..jobs {
                held = settle_and_lease(&queue, &held, 1).await;
            }
            let settled = queue.leasing().settle(&held).await;
            settled.expect("settled");
        };
        stage.spend_on(&runtime, jobs, work).both()
    })
}
