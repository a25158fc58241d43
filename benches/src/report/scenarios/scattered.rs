//! Results that come one by one, in another order than the messages: a worker of 64 slots whose
//! handlers take random times.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use queue_core::QueueKind;
use tokio::time::sleep;

use crate::{
    redis::{
        fixture::Shape,
        ours::{fill, open},
        plain::List,
    },
    report::{
        chance::Chance,
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
    work_off::work_off,
};

const SLOTS: usize = 64;
const RAW: &str = "64 tasks: LMOVE + LREM";

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "scattered",
    about: "a worker of 64 slots whose handlers take random times, each settled at its own end",
    axis: Some("longest time of a handler, ms"),
    figures: &[Figure::JOBS, Figure::SERVER],
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |longest: usize| {
        ScenarioCase::new(longest.to_string(), RAW, move |stage| sides(stage, longest))
    };
    [2, 10, 50].map(case).into()
}

fn sides(stage: &Stage, longest: usize) -> Sides<'_> {
    let jobs = SLOTS * stage.effort.pick(2, 640 / longest.max(4));
    // Both sides draw the same times.
    let times = move || Chance::seeded(longest as u64);
    Sides::new(
        move || ours(stage, jobs, longest, &times()),
        move || raw(stage, jobs, longest, &times()),
    )
}

fn ours(stage: &Stage, jobs: usize, longest: usize, times: &Chance) -> Vec<f64> {
    stage.named(|name| {
        let opened = open(&stage.fixture.backend, name, QueueKind::Reliable);
        let queue = stage.fixture.runtime.block_on(opened);
        stage.fixture.runtime.block_on(fill(&queue, jobs));
        let times = times.clone();
        let handler = move |_body| sleep(drawn(&times, longest));
        let work = work_off(&queue, SLOTS, jobs, handler);
        stage.spend(jobs, work).both()
    })
}

fn raw(stage: &Stage, jobs: usize, longest: usize, times: &Chance) -> Vec<f64> {
    stage.named(|name| {
        let fixture = &stage.fixture;
        let opened = List::open(fixture.raw.clone(), name);
        let list = fixture.runtime.block_on(opened);
        fixture.runtime.block_on(list.clone().fill(jobs));
        let left = Arc::new(AtomicUsize::new(jobs));
        let caller = || {
            let (mut list, times, left) = (list.clone(), times.clone(), Arc::clone(&left));
            async move {
                let mut holds = false;
                while claim(&left) {
                    match holds {
                        true => list.settle_and_lease(1).await,
                        false => list.take(1).await,
                    }
                    holds = true;
                    sleep(drawn(&times, longest)).await;
                }
                if holds {
                    list.delete(1).await;
                }
            }
        };
        let work = async {
            Shape::new(1, SLOTS).time(caller).await;
        };
        stage.spend(jobs, work).both()
    })
}

/// Takes one of the jobs that are left.
fn claim(left: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
        .is_ok()
}

fn drawn(times: &Chance, longest: usize) -> Duration {
    Duration::from_millis(longest as u64).mul_f64(times.part())
}
