//! The server's work for a worker that has nothing to do.

use std::time::{Duration, Instant};

use queue_core::QueueKind;
use redis::{AsyncCommands, Direction, aio::MultiplexedConnection};
use tokio::time::{sleep, timeout};

use crate::{
    redis::ours::open,
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
    work_off::worker,
};

/// The interval at which both sides poll without a hint; in a full run, the worker's default.
const POLL: Duration = Duration::from_secs(5);
const QUICK_POLL: Duration = Duration::from_millis(50);

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "idle",
    about: "a worker on an empty reliable queue, which looks every five seconds",
    axis: None,
    figures: &[
        Figure::less("commands/s, those inside scripts, too"),
        // The connection that only receives hints does not count.
        Figure::less("round trips/s"),
    ],
    pairs: 3,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |slots: usize| {
        let raw = "BLMOVE that waits five seconds";
        let name = format!("a worker of {slots} slots");
        ScenarioCase::new(name, raw, move |stage| sides(stage, slots))
    };
    vec![case(16)]
}

fn sides(stage: &Stage, slots: usize) -> Sides<'_> {
    let (poll, polls) = stage.effort.pick((QUICK_POLL, 4), (POLL, 2));
    Sides::new(
        move || ours(stage, slots, poll, polls),
        move || {
            stage.named(|name| {
                let link = stage.fixture.connect();
                stage.fixture.runtime.block_on(raw(link, name, poll, polls))
            })
        },
    )
}

fn ours(stage: &Stage, slots: usize, poll: Duration, polls: u32) -> Vec<f64> {
    stage.named(|name| {
        let counted = stage.fixture.connect_counted();
        stage.fixture.runtime.block_on(async {
            let queue = open(&counted.backend, name, QueueKind::Reliable).await;
            let counting = async {
                // The worker's start is not counted: it connects, polls, and begins to wait.
                sleep(poll).await;
                let before = stage.fixture.commands();
                counted.take();
                let start = Instant::now();
                sleep(poll * polls).await;
                let seconds = start.elapsed().as_secs_f64();
                let calls = stage.fixture.commands().since(&before).all();
                let trips = counted.take().trips;
                vec![calls as f64 / seconds, trips as f64 / seconds]
            };
            let worker = worker(&queue).concurrency(slots).poll(poll);
            let idle = worker.run(|_body, _context| async {});
            tokio::select! {
                measured = counting => measured,
                ended = idle => panic!("the worker ended: {ended:?}"),
            }
        })
    })
}

/// The client counts its own commands, each of which is a round trip.
async fn raw(mut link: MultiplexedConnection, name: &str, poll: Duration, polls: u32) -> Vec<f64> {
    let (ready, backup) = (format!("{name}ready"), format!("{name}backup"));
    let start = Instant::now();
    for _ in 0..polls {
        let (from, to) = (Direction::Left, Direction::Right);
        let waited = link.blmove(&ready, &backup, from, to, poll.as_secs_f64());
        let patience = poll + Duration::from_secs(60);
        let moved = timeout(patience, waited).await.expect("the wait ends");
        let moved: Option<Vec<u8>> = moved.expect("the server answers");
        assert_eq!(moved, None, "the queue is empty");
    }
    let rate = f64::from(polls) / start.elapsed().as_secs_f64();
    vec![rate, rate]
}
