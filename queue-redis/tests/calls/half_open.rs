//! Half-open connections: when a backend finds one silent, it tests the others.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{LeasingExt, Timestamp};
use real_redis::{Proxy, Server};
use tokio::time::{Instant, sleep, timeout};

use super::{
    BRIEF, Test,
    open::open,
    patient::patient,
    registered::waiting,
    until::{PATIENCE, until},
};

const LEASE: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_waiter_on_a_half_open_connection_is_notified_once_a_call_detects_it() -> Test {
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    // No caller polls on its timer within this test.
    let builder = patient(&proxy.url())
        .response_timeout(BRIEF)
        .fall_back(100 * PATIENCE);
    let backend = builder.connect().await?;
    let queue = open(&backend, "a").await?;
    let consumer = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move {
            queue.wait_for_arrival(100 * PATIENCE).await?;
            queue.receive_one(LEASE, PATIENCE).await
        }
    });
    until("somebody waits", || {
        let counts = server.command_counts().expect("it counts");
        counts.of("subscribe") == 1
    })
    .await;
    sleep(Duration::from_millis(100)).await;
    proxy.strand();
    let start = Instant::now();
    while backend.ping().await.is_err() {
        assert!(start.elapsed() < PATIENCE, "calls are answered again");
    }
    let others = open(&patient(&server.url()).connect().await?, "a").await?;
    let _ = others.push_one("hello").await?;
    let received = timeout(PATIENCE, consumer).await???;
    assert!(received.is_some());
    Ok(())
}

/// The message is leased although nobody received it, and comes back when the lease expires, as after any
/// lost reply.
#[tokio::test]
async fn a_message_handed_over_on_a_half_open_connection_comes_back() -> Test {
    const SHORT: Duration = Duration::from_secs(1);
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    // The test's clock ends the lease; real time on a busy machine might end it too early.
    let now = Arc::new(AtomicU64::new(1_700_000_000_000));
    let connect = async |url: &str| {
        let now = Arc::clone(&now);
        let clock = move || Timestamp::from_millis(now.load(Ordering::SeqCst));
        let builder = patient(url).fall_back(100 * PATIENCE).clock(clock);
        open(&builder.connect().await?, "a").await
    };
    let stranded = connect(&proxy.url()).await?;
    let receiving = tokio::spawn(async move { stranded.receive_one(SHORT, PATIENCE).await });
    // The marker shows a waiter for certain: the subscription comes before the registration, and opening
    // the queue also adds to a sorted set.
    until("somebody waits", || waiting(&server, "a") == 1).await;
    proxy.strand();
    let others = connect(&server.url()).await?;
    let _ = others.push_one("hello").await?;
    assert_eq!(others.depth().await?.leased, 1);
    receiving.abort();
    now.fetch_add(SHORT.as_millis() as u64, Ordering::SeqCst);
    let again = others.receive_one(LEASE, PATIENCE).await?;
    assert_eq!(again.expect("it comes back").attempt, 2);
    Ok(())
}
