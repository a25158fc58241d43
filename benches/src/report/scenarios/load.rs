//! The time from a push to the start of its handler, under a steady load.
//!
//! First a search finds the highest load at which the worker keeps up. Then messages arrive at a fraction of that load,
//! each at its own random time. No message waits until earlier ones have been handled, so a stall counts for all
//! messages that arrive meanwhile. The raw side gets the same load.

use std::{cell::OnceCell, rc::Rc, time::Duration};

use bytes::Bytes;
use queue_core::{Push, QueueKind};
use redis::{AsyncCommands, Direction, Value};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use super::{arrivals::Load, waits::Log};
use crate::{
    redis::{fixture::Shape, ours::open},
    report::{
        meter::Stage,
        scenario::{Figure, Scenario, ScenarioCase, Sides},
    },
    work_off::work_off,
};

/// The worker's slots, and the producers that keep it busy.
const SLOTS: usize = 64;
/// The raw consumers, each on a connection of its own, since a waiting one blocks its connection.
const CONSUMERS: usize = 8;
const RAW: &str = "LPUSH; 8 × LREM + BLMOVE in one trip";
/// A worker keeps up if 99 of 100 messages start within this time.
const SOON: Duration = Duration::from_millis(50);
/// While the worker does not keep up, the search goes on with this fraction of the load, at most this number of times.
const STEP: f64 = 0.85;
const TRIES: usize = 16;
/// The place of p99 among the figures.
const P99: usize = 1;
/// The longest time until all messages of a load have come.
const PATIENCE: Duration = Duration::from_secs(120);

/// The scenario.
pub(super) const SCENARIO: Scenario = Scenario {
    name: "load",
    about: "messages that are pushed singly at random times, to a worker of 64 slots on \
            connections of its own; the raw side has the same load",
    axis: Some("% of the highest load"),
    figures: &[
        Figure::less("push to start p50, µs"),
        Figure::less("push to start p99, µs"),
        Figure::JOBS,
    ],
    pairs: 5,
    cases,
};

fn cases() -> Vec<ScenarioCase> {
    // Found once, so that all cases are fractions of the same load.
    let highest = Rc::new(OnceCell::new());
    let case = |percent: usize| {
        let highest = Rc::clone(&highest);
        ScenarioCase::new(format!("{percent} %"), RAW, move |stage| {
            sides(stage, percent, Rc::clone(&highest))
        })
    };
    [30, 60, 90].map(case).into()
}

fn sides(stage: &Stage, percent: usize, highest: Rc<OnceCell<f64>>) -> Sides<'_> {
    let same = Rc::clone(&highest);
    let part = move |highest: &OnceCell<f64>| {
        let highest = highest.get_or_init(|| highest_load(stage));
        let seconds = stage.effort.pick(0.05, 2.0);
        Load::of(highest * percent as f64 / 100.0, seconds)
    };
    Sides::new(
        move || ours(stage, part(&highest)),
        move || raw(stage, part(&same)),
    )
}

/// The highest rate at which the worker keeps up: 99 of 100 messages start soon.
///
/// The search begins at the rate of producers that wait for each other, which is higher: their pushes are sent in
/// batches, and so are the `settle_and_lease` calls of a busy worker.
fn highest_load(stage: &Stage) -> f64 {
    let mut rate = busy_rate(stage, stage.effort.pick(10, 400));
    for _ in 0..stage.effort.pick(1, TRIES) {
        let waits = ours(stage, Load::of(rate, stage.effort.pick(0.05, 1.0)));
        if waits[P99] < SOON.as_secs_f64() * 1e6 {
            break;
        }
        rate *= STEP;
    }
    rate
}

/// Jobs a second while producers push singly, as fast as they can, beside the worker.
fn busy_rate(stage: &Stage, jobs_each: usize) -> f64 {
    stage.named(|name| {
        let consumer = stage.fixture.connect_backend();
        let jobs = jobs_each * SLOTS;
        let work = async {
            let producer = open(&stage.fixture.backend, name, QueueKind::Reliable).await;
            let consumer = open(&consumer, name, QueueKind::Reliable).await;
            let pushing = Shape::new(1, SLOTS).time(|| {
                let producer = producer.clone();
                async move {
                    for _ in 0..jobs_each {
                        producer.put(1).await;
                    }
                }
            });
            let working = work_off(&consumer, SLOTS, jobs, |_body| async {});
            tokio::join!(pushing, working);
        };
        stage.spend(jobs, work).rate()
    })
}

fn ours(stage: &Stage, load: Load) -> Vec<f64> {
    stage.named(|name| {
        let consumer = stage.fixture.connect_backend();
        stage.fixture.runtime.block_on(async {
            let producer = open(&stage.fixture.backend, name, QueueKind::Reliable).await;
            let consumer = open(&consumer, name, QueueKind::Reliable).await;
            let log = Log::default();
            let starts = log.clone();
            let handler = move |body: Bytes| {
                starts.note(&body);
                async {}
            };
            let mut arrivals = load.arrivals();
            let pushing = async {
                let mut pushes = JoinSet::new();
                while let Some(at) = arrivals.recv().await {
                    let (producer, body) = (producer.clone(), log.body(at));
                    pushes.spawn(async move {
                        let pushed = producer.queue().put(&[Push::new(body)]).await;
                        pushed.expect("pushed");
                    });
                }
                pushes.join_all().await;
            };
            let working = work_off(&consumer, SLOTS, load.messages, handler);
            let both = async { tokio::join!(pushing, working) };
            timeout(PATIENCE, both).await.expect("all messages come");
            log.figures()
        })
    })
}

fn raw(stage: &Stage, load: Load) -> Vec<f64> {
    stage.named(|name| {
        let (ready, backup) = (format!("{name}ready"), format!("{name}backup"));
        let links: Vec<_> = (0..CONSUMERS).map(|_| stage.fixture.connect()).collect();
        stage.fixture.runtime.block_on(async {
            let log = Log::default();
            let (done, mut dones) = mpsc::unbounded_channel();
            // Dropped at the end, which ends the consumers that wait.
            let mut consumers = JoinSet::new();
            for mut link in links {
                let (ready, backup) = (ready.clone(), backup.clone());
                let (log, done) = (log.clone(), done.clone());
                consumers.spawn(async move {
                    let mut held: Option<Vec<u8>> = None;
                    loop {
                        let mut trip = redis::pipe();
                        if let Some(held) = &held {
                            trip.lrem(&backup, 1, held).ignore();
                        }
                        let (from, to) = (Direction::Right, Direction::Left);
                        trip.blmove(&ready, &backup, from, to, PATIENCE.as_secs_f64());
                        let moved: Vec<Vec<u8>> = trip.query_async(&mut link).await.expect("moved");
                        log.note(&moved[0]);
                        held = moved.into_iter().next();
                        done.send(()).expect("awaited");
                    }
                });
            }
            let mut arrivals = load.arrivals();
            let pushing = async {
                let mut pushes = JoinSet::new();
                while let Some(at) = arrivals.recv().await {
                    let (mut link, ready) = (stage.fixture.raw.clone(), ready.clone());
                    let body = log.body(at);
                    pushes.spawn(async move {
                        let pushed = link.lpush(&ready, &body[..]).await;
                        let _: Value = pushed.expect("pushed");
                    });
                }
                pushes.join_all().await;
            };
            let working = async {
                for _ in 0..load.messages {
                    dones.recv().await.expect("the consumers live");
                }
            };
            let both = async { tokio::join!(pushing, working) };
            timeout(PATIENCE, both).await.expect("all messages come");
            log.figures()
        })
    })
}
