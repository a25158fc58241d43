//! Very many messages due at one moment.

use std::time::{Duration, Instant, SystemTime};

use queue_core::{DelayQueue, Due, LeasingExt, Scheduled, Timestamp};
use queue_redis::RedisBackend;
use redis::Script;

use super::{
    ours::{Kind, LEASE, count, leasing, measured},
    raw::add_to_zset,
    stand::Stand,
};
use crate::{
    kinds::{BODY, Subject},
    pairs::Work,
};

/// How many.
pub const MESSAGES: usize = 100_000;
/// Enough to put them all in before, on an idle machine.
const AHEAD: Duration = Duration::from_millis(1_500);
const BATCH: usize = 128;
/// A time that was due long ago.
const PAST: u64 = 1_500_000_000_000;

/// How late messages came after their due time, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Lateness {
    /// The first.
    pub first: f64,
    /// Half of them.
    pub p50: f64,
    /// All but one in a hundred.
    pub p99: f64,
    /// The last.
    pub max: f64,
    /// How many came before their time.
    pub early: usize,
}

/// Drains them with one consumer, in batches, one turn after the other.
pub fn ours<'a>(stand: &'a Stand, lateness: &'a dyn Fn(Lateness)) -> Work<'a> {
    measured(stand, move |name, rounds| {
        (0..rounds)
            .map(|round| {
                let name = format!("{name}{round}");
                let (time, late) = stand.runtime.block_on(drain(&stand.backend, &name));
                lateness(late);
                time
            })
            .sum()
    })
}

async fn drain(backend: &RedisBackend, name: &str) -> (Duration, Lateness) {
    let subject = Kind::Delay.open(backend, name).await;
    let Subject::Delay(delay) = &subject else {
        unreachable!("it was opened as delay")
    };
    let due = schedule(&**delay).await;
    let queue = leasing(&subject);
    let mut late = Vec::with_capacity(MESSAGES);
    let mut held = Vec::new();
    let mut first = None;
    while late.len() < MESSAGES {
        let turn = queue.turn(&held, count(BATCH), LEASE);
        let (_, leased) = turn.await.expect("turned");
        let at = now();
        if leased.is_empty() {
            let patience = leased.next.expect("more are due");
            queue.wait_for_arrival(patience).await.expect("waited");
        } else {
            first.get_or_insert_with(Instant::now);
        }
        let millis = (at.as_secs_f64() - due.as_secs_f64()) * 1e3;
        late.extend(leased.deliveries.iter().map(|_| millis));
        let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
        held = receipts.map(queue_core::Settlement::ack).collect();
    }
    queue.settle(&held).await.expect("settled");
    let lateness = Lateness {
        first: late[0],
        p50: late[MESSAGES / 2],
        p99: late[MESSAGES * 99 / 100],
        max: late[MESSAGES - 1],
        early: late.iter().filter(|late| **late < 0.0).count(),
    };
    let time = first.map_or(Duration::ZERO, |first| first.elapsed());
    (time, lateness)
}

/// Puts them in; answers when they are due.
async fn schedule(delay: &dyn DelayQueue) -> Duration {
    let mut ahead = AHEAD;
    loop {
        let due = (now() + ahead).as_millis() as u64;
        let at = Due::At(Timestamp::from_millis(due));
        for start in (0..MESSAGES).step_by(BATCH) {
            let size = BATCH.min(MESSAGES - start);
            let batch: Vec<_> = (0..size).map(|_| Scheduled::new(BODY, at)).collect();
            delay.schedule(&batch).await.expect("scheduled");
        }
        let due = Duration::from_millis(due);
        if now() < due {
            return due;
        }
        // The first were due before the last were in: again, with more time.
        delay.purge_all().await.expect("purged");
        ahead *= 2;
    }
}

/// Takes and deletes as many, in as large batches: no lease, and nothing to come back to.
///
/// # Panics
///
/// If the server does not answer.
pub fn raw(stand: &Stand) -> Work<'_> {
    let take = Script::new(include_str!("../../lua/raw/take_due.lua"));
    measured(stand, move |name, rounds| {
        (0..rounds)
            .map(|round| {
                let (line, bodies) = (format!("{name}{round}line"), format!("{name}{round}bodies"));
                stand.runtime.block_on(async {
                    let mut raw = stand.raw.clone();
                    fill(&mut raw, &line, &bodies).await;
                    let start = Instant::now();
                    let mut taken = 0;
                    let mut first = None;
                    while taken < MESSAGES {
                        let mut call = take.key(&line);
                        let call = call.key(&bodies).arg(BATCH).invoke_async(&mut raw);
                        let batch: Vec<Vec<u8>> = call.await.expect("taken");
                        assert!(!batch.is_empty());
                        taken += batch.len();
                        first.get_or_insert_with(Instant::now);
                    }
                    first.unwrap_or(start).elapsed()
                })
            })
            .sum()
    })
}

async fn fill(raw: &mut redis::aio::MultiplexedConnection, line: &str, bodies: &str) {
    for start in (0..MESSAGES as u64).step_by(1_000) {
        let trip = add_to_zset(line, bodies, PAST, start..start + 1_000);
        trip.exec_async(raw).await.expect("filled");
    }
}

fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("it is after 1970")
}
