//! A worker on a runtime of two threads, as most programs have one, beside the same worker on a runtime of one thread.

use queue_core::QueueKind;
use tokio::runtime::{Builder, Runtime};

use super::work_off::work_off;
use crate::{
    redis::ours::{fill, open},
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
};

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "threads",
    about: "the jobs of `worker` on a runtime of two threads, beside one of one thread",
    axis: Some("slots of the worker"),
    figures: &[Figure::JOBS, Figure::SERVER],
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let raw = "the same worker on one thread";
    let case =
        |slots: usize| ScenarioCase::new(slots.to_string(), raw, move |stage| sides(stage, slots));
    [16, 64].map(case).into()
}

fn sides(stage: &Stage, slots: usize) -> Sides<'_> {
    Sides::new(
        move || measure(stage, Builder::new_multi_thread().worker_threads(2), slots),
        move || measure(stage, &mut Builder::new_current_thread(), slots),
    )
}

fn measure(stage: &Stage, runtime: &mut Builder, slots: usize) -> Vec<f64> {
    let runtime: Runtime = runtime.enable_all().build().expect("a runtime starts");
    let backend = stage.fixture.connect_backend_on(&runtime);
    let jobs = stage.effort.pick(512, 40_960);
    stage.named(|name| {
        let queue = runtime.block_on(open(&backend, name, QueueKind::Reliable));
        let work = async {
            fill(&queue, jobs).await;
            work_off(&queue, slots, jobs, |_body| async {}).await;
        };
        stage.spend_on(&runtime, jobs, work).both()
    })
}
