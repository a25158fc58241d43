//! Calls that would block the server for long work in steps.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;

use std::num::NonZeroUsize;

use queue_core::*;
use real_redis::Server;

use self::patient::patient;

fn count(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not zero")
}

/// A bounded queue with `messages` messages.
async fn filled(server: &Server, messages: usize) -> Bounded {
    let backend = patient(&server.url()).connect().await.expect("connects");
    let name = QueueName::new("filled").expect("a name");
    let config = QueueConfig::of(QueueKind::Bounded, 10_000);
    let Ok(AnyQueue::Bounded(queue)) = backend.open(&name, &config).await else {
        panic!("a bounded queue");
    };
    let batch = vec![Push::new("x"); 100];
    for _ in 0..messages / batch.len() {
        queue.push(&batch).await.expect("offers");
    }
    queue
}

type Bounded = std::sync::Arc<dyn BoundedQueue>;

fn calls_of_scripts(server: &Server) -> u64 {
    let counts = server.command_counts();
    counts.expect("the server answers").of("evalsha")
}

#[tokio::test]
async fn an_open_that_resizes_is_one_call_more_than_an_open() {
    let server = Server::start().expect("a server");
    let queue = filled(&server, 100).await;
    let backend = patient(&server.url()).connect().await.expect("connects");
    let name = QueueName::new("filled").expect("a name");
    for (capacity, steps) in [(10_000, 1), (30, 1), (30, 1), (20_000, 1)] {
        let before = calls_of_scripts(&server);
        let config = BoundedConfig::new(capacity);
        let opened = backend.open_or_resize(&name, &config).await;
        assert_eq!(calls_of_scripts(&server) - before, 1 + steps, "{capacity}");
        let now = opened.expect("opens").capacity().await.expect("a capacity");
        assert_eq!(now.get(), capacity);
    }
    let depth = queue.depth().await.expect("a depth");
    assert_eq!((depth.ready, depth.leased), (30, 0));
}

#[tokio::test]
async fn a_large_purge_and_a_large_resize_take_a_call_for_each_step() {
    let server = Server::start().expect("a server");
    let queue = filled(&server, 2_000).await;
    let before = calls_of_scripts(&server);
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 1_000);
    // Steps of 128 messages.
    assert_eq!(calls_of_scripts(&server) - before, 8);
    let before = calls_of_scripts(&server);
    let dropped = queue.resize(count(10)).await.expect("resizes");
    assert_eq!(dropped.len(), 990);
    assert_eq!(calls_of_scripts(&server) - before, 8);
    let before = calls_of_scripts(&server);
    assert_eq!(queue.purge(count(128)).await.expect("purges"), 10);
    assert_eq!(calls_of_scripts(&server) - before, 1);
}

#[tokio::test]
async fn offers_go_on_with_a_resize_that_broke_off() {
    let server = Server::start().expect("a server");
    let queue = filled(&server, 400).await;
    // The queue after the first step.
    let left = "HSET qk:{filled}:meta capacity 10 resized 1 surplus 390";
    let left: Vec<&str> = left.split(' ').collect();
    server.ask::<()>(&left).expect("the server answers");
    for there in [272, 144, 16, 10] {
        let offered = queue.push_one(Push::new("x")).await;
        assert_eq!(offered.expect("offers"), Pushed::Full);
        let counters = queue.counters().await.expect("counts");
        assert_eq!(counters.depth.ready, there);
        assert!(counters.balance(), "{counters:?}");
    }
    // A further call removes nothing.
    let offered = queue.push_one(Push::new("x")).await;
    assert_eq!(offered.expect("offers"), Pushed::Full);
    assert_eq!(queue.depth().await.expect("depth").ready, 10);
}
