//! Measures many messages due at one moment.

use std::time::{Duration, Instant, SystemTime};

use queue_core::{AnyQueue, DelayQueue, Due, LeasingExt, Push, QueueKind, Timestamp};
use queue_redis::RedisBackend;

use super::{
    fixture::Fixture,
    ours::{LEASE, count, measured, open},
    plain::{PAST, Zset},
};
use crate::{kinds::BODY, pairs::Work};

/// The number of messages.
pub const MESSAGES: usize = 100_000;
/// Long enough to push them all before they are due, on an idle machine.
const AHEAD: Duration = Duration::from_millis(1_500);
const BATCH: usize = 128;

/// The lateness of messages after their due time, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub struct Lateness {
    /// The first.
    pub first: f64,
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The last.
    pub max: f64,
    /// The number of messages that came early.
    pub early: usize,
}

/// Drains them with one consumer, in batches, one `settle_and_lease` after the other.
pub fn ours<'a>(fixture: &'a Fixture, lateness: &'a dyn Fn(Lateness)) -> Work<'a> {
    measured(fixture, move |name, rounds| {
        (0..rounds)
            .map(|round| {
                let name = format!("{name}{round}");
                let (time, late) = fixture.runtime.block_on(drain(&fixture.backend, &name));
                lateness(late);
                time
            })
            .sum()
    })
}

async fn drain(backend: &RedisBackend, name: &str) -> (Duration, Lateness) {
    let queue = open(backend, name, QueueKind::Delay).await;
    let AnyQueue::Delay(delay) = queue.queue() else {
        unreachable!("it was opened as delay")
    };
    let due = schedule(&**delay).await;
    let queue = queue.leasing();
    let mut late = Vec::with_capacity(MESSAGES);
    let mut held = Vec::new();
    let mut first = None;
    while late.len() < MESSAGES {
        let call = queue.settle_and_lease(&held, count(BATCH), LEASE, None);
        let (_, leased) = call.await.expect("settled and leased");
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

/// Pushes them, and returns their due time.
async fn schedule(delay: &dyn DelayQueue) -> Duration {
    let mut ahead = AHEAD;
    loop {
        let due = (now() + ahead).as_millis() as u64;
        let at = Due::At(Timestamp::from_millis(due));
        for start in (0..MESSAGES).step_by(BATCH) {
            let size = BATCH.min(MESSAGES - start);
            let batch: Vec<_> = (0..size).map(|_| Push::from(BODY).with_due(at)).collect();
            delay.push(&batch).await.expect("scheduled");
        }
        let due = Duration::from_millis(due);
        if now() < due {
            return due;
        }
        // The first messages were due before the last were pushed, so it tries again with more time.
        delay.purge_all().await.expect("purged");
        ahead *= 2;
    }
}

/// Takes and deletes the same number of messages, in batches of the same size, without leases.
///
/// # Panics
///
/// If the server does not answer.
pub fn raw(fixture: &Fixture) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        (0..rounds)
            .map(|round| {
                let name = format!("{name}{round}");
                fixture.runtime.block_on(async {
                    let mut zset = Zset::open(fixture.raw.clone(), &name).await;
                    zset.fill_at(PAST, MESSAGES).await;
                    let start = Instant::now();
                    let mut taken = 0;
                    let mut first = None;
                    while taken < MESSAGES {
                        let batch = zset.take_up_to(BATCH).await;
                        assert!(batch > 0);
                        taken += batch;
                        first.get_or_insert_with(Instant::now);
                    }
                    first.unwrap_or(start).elapsed()
                })
            })
            .sum()
    })
}

fn now() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.expect("it is after 1970")
}
