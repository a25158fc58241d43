//! The server forgets all its data.

use std::time::Duration;

use queue_core::*;
use real_redis::Server;

use crate::{
    ground::{administer, connect, within},
    subject::Subject,
};

const LEASE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_flushed_queue_heals() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let leasing = queue.leasing();
        let _ = queue.put_one("lost").await.expect("put");
        let _ = queue.put_one("lost too").await.expect("put");
        let old = leasing.receive_one(LEASE, Duration::ZERO).await;
        let old = old.expect("lease").expect("a message").receipt;
        administer(&server, "FLUSHALL");
        next_millisecond(&server);

        // R1: the receipts of a lost history match nothing, even if its ids come again.
        let settled = leasing.settle(&[Settlement::ack(old)]).await;
        assert_eq!(settled.expect("settle"), [Settled::LeaseLost]);
        let _ = queue.put_one("kept").await.expect("put");
        let kept = leasing.receive_one(LEASE, Duration::ZERO).await;
        let kept = kept.expect("lease").expect("a message");
        assert_eq!((&kept.body[..], kept.attempt), (&b"kept"[..], 1));
        assert_eq!(kept.receipt.id, old.id, "a new history counts from 1");
        let settled = leasing.settle(&[Settlement::ack(old)]).await;
        assert_eq!(settled.expect("settle"), [Settled::LeaseLost]);
        leasing.ack(kept.receipt).await.expect("ack");

        let counters = leasing.counters().await.expect("counters");
        assert!(counters.balance(), "{counters:?}");
        assert_eq!((counters.accepted, counters.acked), (1, 1));
        // Its configuration is back, too, so another open is checked against it.
        Subject::open(&*backend, kind).await.expect("opens again");
        let name = QueueName::new(kind.as_str()).expect("a name");
        let other = RotatingConfig::default();
        let mismatch = backend.open_rotating(&name, &other).await;
        let mismatch = mismatch.expect_err("another kind");
        assert_eq!(mismatch.kind(), ErrorKind::ConfigMismatch);
    }
}

/// Waits for the next millisecond of the server's clock, because only its time distinguishes a token from a
/// lost one.
fn next_millisecond(server: &Server) {
    let now = || {
        let time = redis::from_redis_value(administer(server, "TIME"));
        let (seconds, micros): (u64, u64) = time.expect("two numbers");
        seconds * 1_000 + micros / 1_000
    };
    let start = now();
    while now() <= start {}
}

#[tokio::test]
async fn a_flushed_queue_still_wakes_waiters() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    for kind in QueueKind::LEASING {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let waiting = queue.clone();
        let waiter = tokio::spawn(async move {
            let leasing = waiting.leasing();
            leasing.receive_one(LEASE, Duration::from_secs(3600)).await
        });
        administer(&server, "FLUSHALL");
        let _ = queue.put_one("after").await.expect("put");
        let delivery = within("a message after FLUSHALL", waiter).await;
        let delivery = delivery.expect("no panic").expect("receive");
        assert_eq!(&delivery.expect("a message").body[..], b"after");
        administer(&server, "FLUSHALL");
    }
}

#[tokio::test]
async fn a_flushed_ring_heals() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    let name = QueueName::new("ring").expect("a name");
    let config = RotatingConfig::default();
    let ring = backend.open_rotating(&name, &config);
    let ring = ring.await.expect("opens");
    ring.insert_one("lost").await.expect("insert");
    administer(&server, "FLUSHALL");
    assert_eq!(ring.len().await.expect("len"), 0);
    administer(&server, "SCRIPT FLUSH");
    let item = Insert::new("kept").with_key("kept");
    ring.insert_one(item.clone()).await.expect("insert");
    let again = ring.insert_one(item).await.expect("insert");
    assert!(matches!(again, Inserted::Present(_)));
    let visited = ring.visit(10, Duration::ZERO).await.expect("visit");
    assert_eq!(visited.len(), 1);
    assert_eq!(&visited[0].body[..], b"kept");
}
