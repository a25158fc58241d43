//! Bodies of several sizes, and how long one command about them keeps the server from others.

use bytes::Bytes;
use queue_core::{Push, QueueKind};
use redis::{Direction, aio::MultiplexedConnection};

use super::cycle::settle_and_lease;
use crate::{
    kinds::LeasingQueue,
    redis::ours::{lease, open, settle},
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
};

const RAW: &str = "RPUSH; LTRIM + LMOVE in one trip";
/// Jobs during which the server logs its commands, some fifty commands a job.
const LOGGED: usize = 200;

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "bodies",
    about: "a push, and a call that settles and leases, one message at a time; the longest stop is \
            the longest command in the server's slow log",
    axis: Some("bytes of a body"),
    figures: &[
        Figure::JOBS,
        Figure::SERVER,
        Figure::less("longest stop of the server, µs"),
    ],
    pairs: 7,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    let case = |(name, bytes): (&str, usize)| {
        ScenarioCase::new(name, RAW, move |stage| sides(stage, bytes))
    };
    let kib = 1_024;
    [
        ("100 B", 100),
        ("4 KiB", 4 * kib),
        ("64 KiB", 64 * kib),
        ("1 MiB", kib * kib),
    ]
    .map(case)
    .into()
}

fn sides(stage: &Stage, bytes: usize) -> Sides<'_> {
    let jobs = stage
        .effort
        .pick(8, (100_000_000 / bytes).clamp(100, 4_000));
    let logged = jobs.min(LOGGED);
    let body = Bytes::from(vec![b'x'; bytes]);
    let same = body.clone();
    let ours = move || {
        stage.named(|name| {
            let runtime = &stage.fixture.runtime;
            let opened = open(&stage.fixture.backend, name, QueueKind::Reliable);
            let queue = runtime.block_on(opened);
            let spent = stage.spend(jobs, ours(&queue, &body, jobs));
            let stop = stage.fixture.longest_stop(|| {
                runtime.block_on(ours(&queue, &body, logged));
            });
            [spent.both(), vec![stop.as_secs_f64() * 1e6]].concat()
        })
    };
    let raw = move || {
        stage.named(|name| {
            let runtime = &stage.fixture.runtime;
            let link = &stage.fixture.raw;
            let spent = stage.spend(jobs, raw(link.clone(), name, &same, jobs));
            let stop = stage.fixture.longest_stop(|| {
                runtime.block_on(raw(link.clone(), name, &same, logged));
            });
            [spent.both(), vec![stop.as_secs_f64() * 1e6]].concat()
        })
    };
    Sides::new(ours, raw)
}

async fn ours(queue: &LeasingQueue, body: &Bytes, jobs: usize) {
    let mut held = Vec::new();
    for _ in 0..jobs {
        let pushed = queue.queue().put(&[Push::new(body.clone())]).await;
        pushed.expect("pushed");
        held = match held.is_empty() {
            true => lease(queue.leasing(), 1).await,
            false => settle_and_lease(queue, &held, 1).await,
        };
    }
    settle(queue.leasing(), &held).await;
}

/// The body leaves the backup by its place, since a command that names the body would send it a third
/// time.
async fn raw(mut link: MultiplexedConnection, name: &str, body: &Bytes, jobs: usize) {
    let (ready, backup) = (format!("{name}ready"), format!("{name}backup"));
    for _ in 0..jobs {
        let mut push = redis::cmd("RPUSH");
        let pushed = push.arg(&ready).arg(&body[..]).exec_async(&mut link).await;
        pushed.expect("pushed");
        let mut pipeline = redis::pipe();
        pipeline.ltrim(&backup, 1, -1).ignore();
        pipeline.lmove(&ready, &backup, Direction::Left, Direction::Right);
        let (taken,): (Vec<u8>,) = pipeline
            .query_async(&mut link)
            .await
            .expect("settled and leased");
        assert_eq!(taken.len(), body.len());
    }
    let deleted = redis::cmd("DEL").arg(&backup).exec_async(&mut link).await;
    deleted.expect("deleted");
}
