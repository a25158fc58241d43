//! The time from push to receive, with an idle consumer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use queue_core::{AnyQueue, LeasingExt, Push, QueueKind};
use redis::{AsyncCommands, Direction};
use tokio::{sync::mpsc, time::sleep};

use super::{
    fixture::Fixture,
    ours::{LEASE, measured, open},
};
use crate::pairs::Work;

/// Long enough for the consumer to wait at the server again.
const IDLE: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(10);

/// The time of each wake-up.
pub type Times<'a> = &'a dyn Fn(Duration);

/// Wakes a consumer of a reliable queue that has a backend of its own, as another process would.
///
/// # Panics
///
/// If a message comes that was not pushed.
pub fn ours<'a>(fixture: &'a Fixture, times: Times<'a>) -> Work<'a> {
    measured(fixture, move |name, rounds| {
        let consumer = fixture.connect_backend();
        fixture.runtime.block_on(async {
            let kind = QueueKind::Reliable;
            let producer = open(&fixture.backend, name, kind).await;
            let AnyQueue::Reliable(producer) = producer.queue() else {
                unreachable!("it was opened as reliable")
            };
            let consumer = open(&consumer, name, kind).await;
            let (received, mut arrivals) = mpsc::unbounded_channel();
            let task = tokio::spawn(async move {
                let queue = consumer.leasing();
                for _ in 0..rounds {
                    let delivery = queue.receive_one(LEASE, PATIENCE).await.expect("received");
                    let at = Instant::now();
                    let delivery = delivery.expect("it came in time");
                    queue.ack(delivery.receipt).await.expect("acked");
                    received.send((at, delivery.body)).expect("awaited");
                }
            });
            let mut sum = Duration::ZERO;
            for round in 0..rounds {
                sleep(IDLE).await;
                let body = body(round);
                let start = Instant::now();
                let batch = [Push::new(body.clone())];
                producer.push(&batch).await.expect("pushed");
                let (at, got) = arrivals.recv().await.expect("received");
                assert_eq!(got, body);
                times(at - start);
                sum += at - start;
            }
            task.await.expect("the consumer ends");
            sum
        })
    })
}

/// Wakes a `BLMOVE` on a connection of its own by `LPUSH`.
///
/// # Panics
///
/// If a message comes that was not pushed.
pub fn raw<'a>(fixture: &'a Fixture, times: Times<'a>) -> Work<'a> {
    measured(fixture, move |name, rounds| {
        let (ready, backup) = (format!("{name}ready"), format!("{name}backup"));
        let mut consumer = fixture.connect();
        fixture.runtime.block_on(async {
            let (received, mut arrivals) = mpsc::unbounded_channel();
            let (from, to) = (ready.clone(), backup);
            let task = tokio::spawn(async move {
                for _ in 0..rounds {
                    let (left, right) = (Direction::Left, Direction::Right);
                    let moved = consumer.blmove(&from, &to, left, right, PATIENCE.as_secs_f64());
                    let body: Vec<u8> = moved.await.expect("moved");
                    let at = Instant::now();
                    let _: i64 = consumer.lrem(&to, 1, &body[..]).await.expect("removed");
                    received.send((at, body)).expect("awaited");
                }
            });
            let mut producer = fixture.raw.clone();
            let mut sum = Duration::ZERO;
            for round in 0..rounds {
                sleep(IDLE).await;
                let body = body(round);
                let start = Instant::now();
                let _: i64 = producer.lpush(&ready, &body[..]).await.expect("pushed");
                let (at, got) = arrivals.recv().await.expect("received");
                assert_eq!(got, body);
                times(at - start);
                sum += at - start;
            }
            task.await.expect("the consumer ends");
            sum
        })
    })
}

fn body(round: u64) -> Bytes {
    format!("{round:0100}").into()
}
