//! Bytes that a message takes on the server while it is ready.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use queue_core::QueueKind;
use redis::{AsyncCommands, aio::MultiplexedConnection};

use super::{
    contenders::Contender,
    fixture::{Fixture, Shape},
    jobs::Jobs,
    ours::{fill, open},
    raw::{LATER, add_to_zset},
    strategies::{Strategy, Structure},
};
use crate::{kinds::BODY, pairs::Work};

/// The number of messages for each figure.
pub const MESSAGES: usize = 100_000;
const BATCH: usize = 100;
/// The producers of a strategy's queue, each with a batch under way. Some strategies push messages one
/// by one, which takes one producer long.
const PRODUCERS: usize = 20;

/// The same bodies in plain structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floor {
    /// A list of bodies.
    List,
    /// A zset of 7-byte ids and a hash of bodies.
    ZsetAndHash,
}

impl Floor {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list of bodies",
            Self::ZsetAndHash => "zset + hash",
        }
    }
}

/// Bytes for each message, sample by sample.
pub type Bytes = RefCell<Vec<f64>>;

/// A queue of ours.
pub fn ours<'a>(fixture: &'a Fixture, kind: QueueKind, bytes: &'a Bytes) -> Work<'a> {
    filled(fixture, bytes, move |name| {
        fixture.runtime.block_on(async {
            fill(&open(&fixture.backend, name, kind).await, MESSAGES).await;
        });
    })
}

/// Another structure.
pub fn structure<'a>(fixture: &'a Fixture, strategy: Strategy, bytes: &'a Bytes) -> Work<'a> {
    filled(fixture, bytes, move |name| {
        fixture.runtime.block_on(async {
            let mut structure = Structure::new(strategy, fixture.raw.clone(), name).await;
            for _ in 0..MESSAGES / BATCH {
                structure.push(BATCH).await;
            }
        });
    })
}

/// A plain structure.
pub fn floor<'a>(fixture: &'a Fixture, floor: Floor, bytes: &'a Bytes) -> Work<'a> {
    filled(fixture, bytes, move |name| {
        let mut raw = fixture.raw.clone();
        fixture.runtime.block_on(async {
            match floor {
                Floor::List => fill_list(&mut raw, name).await,
                Floor::ZsetAndHash => fill_zset(&mut raw, name).await,
            }
        });
    })
}

/// A strategy's queue, filled once: bytes for each message.
///
/// # Panics
///
/// If the queue refuses.
pub fn strategy(fixture: &Fixture, contender: &Contender) -> f64 {
    let fill = |name: &str| {
        fixture.runtime.block_on(async {
            let (backend, plain) = (&fixture.backend, &fixture.raw);
            let jobs = Jobs::open(contender, backend, plain, name, MESSAGES).await;
            let producer = || {
                let jobs = jobs.clone();
                async move {
                    for _ in 0..MESSAGES / (BATCH * PRODUCERS) {
                        jobs.put(BATCH).await;
                    }
                }
            };
            Shape::new(BATCH, PRODUCERS).time(producer).await;
            jobs.arrived(MESSAGES).await;
        });
    };
    let (bytes, _) = weigh(fixture, fill);
    bytes
}

async fn fill_list(raw: &mut MultiplexedConnection, name: &str) {
    for _ in 0..MESSAGES / BATCH {
        let body = BODY;
        let bodies = vec![&body[..]; BATCH];
        let _: i64 = raw
            .rpush(format!("{name}ready"), bodies)
            .await
            .expect("pushed");
    }
}

async fn fill_zset(raw: &mut MultiplexedConnection, name: &str) {
    let (line, bodies) = (format!("{name}line"), format!("{name}bodies"));
    for start in (0..MESSAGES as u64).step_by(BATCH) {
        let ids = start..start + BATCH as u64;
        let trip = add_to_zset(&line, &bodies, LATER, ids);
        trip.exec_async(raw).await.expect("filled");
    }
}

/// Fills a queue, and records the server's growth.
fn filled<'a>(fixture: &'a Fixture, bytes: &'a Bytes, fill: impl Fn(&str) + 'a) -> Work<'a> {
    Box::new(move |rounds| {
        let mut sum = Duration::ZERO;
        for _ in 0..rounds {
            let (each, time) = weigh(fixture, &fill);
            bytes.borrow_mut().push(each);
            sum += time;
        }
        sum
    })
}

/// Fills a queue once; answers the server's growth for each message, and the time that it took.
fn weigh(fixture: &Fixture, fill: impl Fn(&str)) -> (f64, Duration) {
    let name = fixture.fresh();
    let before = fixture.memory();
    let start = Instant::now();
    fill(&name);
    let time = start.elapsed();
    let grown = fixture.memory().saturating_sub(before);
    fixture.clear(&name);
    (grown as f64 / MESSAGES as f64, time)
}
