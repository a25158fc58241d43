//! The worker on a real server: how many commands a message costs.

#![cfg(unix)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use queue_redis::RedisBackend;
use queue_worker::{Counts, Worker};
use real_redis::Server;
use tokio::sync::Notify;

const PATIENCE: Duration = Duration::from_secs(60);

/// Commands that only a client sends. Waiting adds none: it uses another connection, and only when
/// there is nothing to do.
const SENT: [&str; 4] = ["evalsha", "eval", "script|load", "multi"];

fn commands(server: &Server) -> u64 {
    server.command_counts().expect("it counts").sum(SENT)
}

/// Works through so many messages in so many slots. Answers the number of commands, and the counts.
async fn work(messages: u64, slots: usize, takes: Duration) -> (u64, Counts, Counters) {
    let server = Server::start().expect("a server starts");
    let backend = RedisBackend::connect(&server.url())
        .await
        .expect("connects");
    let queues = Queues::new(backend);
    let numbers = queues.reliable::<u64>("numbers").await.expect("opens");
    let all: Vec<u64> = (0..messages).collect();
    numbers.push_all(&all).await.expect("pushes");
    let done = Arc::new(AtomicU64::new(0));
    let last = Arc::new(Notify::new());
    let shutdown = {
        let last = Arc::clone(&last);
        async move {
            let in_time = tokio::time::timeout(PATIENCE, last.notified()).await;
            assert!(in_time.is_ok(), "not all were handled");
        }
    };
    let before = commands(&server);
    let report = Worker::new(numbers.clone())
        .concurrency(slots)
        .run_until(shutdown, move |_: u64, _| {
            let (done, last) = (Arc::clone(&done), Arc::clone(&last));
            async move {
                if !takes.is_zero() {
                    tokio::time::sleep(takes).await;
                }
                if done.fetch_add(1, Ordering::Relaxed) + 1 == messages {
                    last.notify_one();
                }
            }
        })
        .await
        .expect("the settings are sound");
    let sent = commands(&server) - before;
    let counters = numbers.queue().counters().await.expect("counts");
    (sent, report.counts, counters)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_slot_costs_one_command_a_message() {
    let (sent, counts, counters) = work(300, 1, Duration::ZERO).await;
    assert_eq!((counters.acked, counts.acked), (300, 300));
    // The first lease, and scripts that the server does not have yet.
    assert!(sent <= 300 + 8, "{sent} commands");
    assert!(counts.calls <= 302, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_slots_and_more_cost_a_fraction_of_a_command_a_message() {
    for (slots, takes) in [(16, 0), (16, 10), (64, 0), (64, 10)] {
        let (sent, counts, counters) = work(3_200, slots, Duration::from_millis(takes)).await;
        assert_eq!((counters.acked, counts.acked), (3_200, 3_200));
        assert_eq!(counts.lost + counters.expired, 0);
        println!("{slots} slots, {takes} ms: {sent} commands for 3200 messages");
        assert!(sent <= 3_200 * 3 / 4, "{slots} slots, {takes} ms: {sent}");
    }
}
