//! Large bodies of messages.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Direction, Proxy, Server};

use crate::{
    LARGE, LEASE, MIB, ask, connect_with_clock, keys_of_bodies, leaks, length_under, log_commands,
    longest_argument, name, patient::patient, two,
};

/// A queue of each leasing kind.
async fn queues(backend: &RedisBackend) -> Vec<AnyQueue> {
    let mut queues = Vec::new();
    for kind in QueueKind::ALL {
        if kind != QueueKind::Rotating {
            let config = QueueConfig::of(kind, 10_000);
            queues.push(backend.open(&name(kind), &config).await.expect("opens"));
        }
    }
    queues
}

#[tokio::test]
async fn no_script_is_called_with_a_large_body() {
    let server = Server::start().expect("a server");
    let backend = patient(&server.url()).connect().await.expect("connects");
    let queues = queues(&backend).await;
    log_commands(&server);
    for (size, out_of_line) in [(MIB, true), (LARGE, true), (LARGE - 1, false)] {
        let _: () = ask(&server, &["SLOWLOG", "RESET"]);
        for queue in &queues {
            queue.put(&[Push::new(vec![7; size])]).await.expect("put");
            let leasing = queue.leasing().expect("leases");
            let leased = leasing.lease(two(), LEASE).await.expect("lease");
            let [delivery] = &leased.deliveries[..] else {
                panic!("one message: {}", leased.deliveries.len());
            };
            assert_eq!(delivery.body, vec![7; size]);
            let frames = format!("qk:{{{}}}:frames", queue.kind());
            let length = length_under(&server, &frames, delivery.id());
            assert_eq!(
                length < 100,
                out_of_line,
                "{length} bytes of a frame for {size}"
            );
            let acked = leasing.settle(&[Settlement::ack(delivery.receipt)]).await;
            assert_eq!(acked.expect("settles"), [Settled::Done]);
        }
        let longest = longest_argument(&server);
        assert_eq!(longest < 1_000, out_of_line, "{longest} bytes of {size}");
        assert_eq!(keys_of_bodies(&server), [""; 0]);
    }
}

#[tokio::test]
async fn an_upload_without_its_push_goes_after_a_minute() {
    let server = Server::start().expect("a server");
    let (backend, now) = connect_with_clock(&server).await;
    for queue in queues(&backend).await {
        let key = |suffix: &str| format!("qk:{{{}}}:{suffix}", queue.kind());
        let _: () = ask(&server, &["ZADD", &key("uploads"), "0", "a reference"]);
        let _: () = ask(&server, &["HSET", &key("bodies"), "a reference", "a body"]);
        let leasing = queue.leasing().expect("leases");
        // The first call that checks stores the time.
        leasing.counters().await.expect("counts");
        now.fetch_add(59_000, Ordering::Relaxed);
        leasing.counters().await.expect("counts");
        assert_eq!(keys_of_bodies(&server).len(), 2, "it may be on its way yet");
        now.fetch_add(2_000, Ordering::Relaxed);
        // A producer that knows of no large bodies checks in one of many pushes.
        for _ in 0..64 {
            queue.put(&[Push::new("small")]).await.expect("put");
        }
        assert_eq!(keys_of_bodies(&server), [""; 0]);
    }
    assert_eq!(leaks(&server), [""; 0]);
}

#[tokio::test]
async fn an_upload_may_take_longer_than_a_minute() {
    let server = Server::start().expect("a server");
    let proxy = Proxy::before(&server).expect("a proxy");
    let now = Arc::new(AtomicU64::new(1_700_000_000_000));
    let connect = async |url: &str| {
        let clock = Arc::clone(&now);
        let builder = patient(url);
        let builder = builder.clock(move || Timestamp::from_millis(clock.load(Ordering::Relaxed)));
        let backend = builder.response_timeout(LEASE).connect().await;
        let (backend, name) = (backend.expect("connects"), name(QueueKind::Reliable));
        let config = ReliableConfig::default();
        backend.open_reliable(&name, &config).await.expect("opens")
    };
    let (slow, quick) = (connect(&proxy.url()).await, connect(&server.url()).await);
    // The body needs ten seconds: the proxy holds the connection before that, also on a slow machine.
    proxy.throttle(Direction::Requests, 100_000);
    let before = proxy.seen(Direction::Requests);
    let pushing = tokio::spawn(async move { slow.push_one(vec![7; MIB]).await });
    // A part of the body is sent, and its staging entry is stored.
    proxy.beyond(Direction::Requests, before + 10_000).await;
    while keys_of_bodies(&server).is_empty() {
        tokio::task::yield_now().await;
    }
    proxy.hold(Direction::Requests);
    for _ in 0..2 {
        quick.counters().await.expect("counts");
        now.fetch_add(61_000, Ordering::Relaxed);
    }
    quick.counters().await.expect("counts");
    assert_eq!(keys_of_bodies(&server), [""; 0], "its note is gone");
    proxy.throttle(Direction::Requests, 100 * MIB as u32);
    proxy.release();
    let _ = pushing.await.expect("no panic").expect("pushed");
    assert_eq!(leaks(&server), [""; 0]);
}

#[tokio::test]
async fn a_refused_push_leaves_nothing_behind() {
    let server = Server::start().expect("a server");
    let backend = patient(&server.url()).connect().await.expect("connects");
    let full = QueueConfig::of(QueueKind::Bounded, 1);
    let full = backend.open(&name(QueueKind::Bounded), &full).await;
    let Ok(AnyQueue::Bounded(full)) = full else {
        panic!("{full:?}");
    };
    let offers = [Push::new("small"), Push::new(vec![7; MIB])];
    let offered = full.push(&offers).await.expect("offers");
    assert!(matches!(offered[1], Pushed::Full), "{offered:?}");
    assert_eq!(keys_of_bodies(&server), [""; 0]);

    let _: () = ask(&server, &["CONFIG", "SET", "maxmemory", "1"]);
    let full = full.push_one(Push::new(vec![7; MIB]).with_overflow(Overflow::DropOldest));
    let error = full.await.expect_err("the server is full");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(keys_of_bodies(&server), [""; 0]);
}

#[tokio::test]
async fn a_body_that_somebody_deleted_blocks_nobody() {
    let server = Server::start().expect("a server");
    let backend = patient(&server.url()).connect().await.expect("connects");
    for queue in queues(&backend).await {
        let put = [Push::new(vec![7; MIB]), Push::new("sound")];
        queue.put(&put).await.expect("put");
        let bodies = format!("qk:{{{}}}:bodies", queue.kind());
        let _: () = ask(&server, &["DEL", &bodies]);
        let leasing = queue.leasing().expect("leases");
        let page = Page::first(10);
        let shown = leasing.peek(Place::Ready, page).await.expect("shows");
        assert_eq!(shown.entries.len(), 1, "{}", queue.kind());
        let leased = leasing.lease(two(), LEASE).await.expect("leases");
        let bodies: Vec<_> = leased
            .deliveries
            .iter()
            .map(|each| &each.body[..])
            .collect();
        assert_eq!(bodies, [b"sound"], "{}", queue.kind());
    }
}
