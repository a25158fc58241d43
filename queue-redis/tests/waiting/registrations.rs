//! The registrations of processes that died, and of a process whose terms have changed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::{LeasingExt, Push, Timestamp};
use real_redis::Server;
use tokio::task::JoinSet;

use super::{
    LEASE, Test, backend, listening, one_waiting,
    open::open,
    patient::patient,
    received, receiving, two_clients,
    until::{PATIENCE, until},
    waiting,
};

/// The registrations at the marker of queue `a`.
fn registered(server: &Server) -> Vec<String> {
    let all = server.ask(&["ZRANGEBYSCORE", "qk:{a}:arrivals", "0", "+inf"]);
    all.expect("it lists them")
}

/// A service that crashes again and again while nothing happens in its queue.
#[tokio::test]
async fn the_registrations_of_dead_processes_end() -> Test {
    const RESTARTS: u64 = 12;
    const UP: u64 = 3_000;
    let server = Server::start()?;
    let now = Arc::new(AtomicU64::new(1_700_000_000_000));
    // The server keeps a registration for eight such intervals.
    let fall_back = Duration::from_secs(1);
    for restart in 0..RESTARTS {
        let clock = Arc::clone(&now);
        let here = patient(&server.url())
            .fall_back(fall_back)
            .clock(move || Timestamp::from_millis(clock.load(Ordering::SeqCst)))
            .connect()
            .await?;
        let consumer = open(&here, "a").await?;
        let before = registered(&server);
        let mut set = JoinSet::new();
        receiving(&mut set, &consumer);
        until("it waits", || {
            registered(&server).iter().any(|one| !before.contains(one))
        })
        .await;
        let there = registered(&server).len();
        assert!(there <= 4, "{there} registrations after {restart} restarts");
        set.shutdown().await;
        drop((consumer, here));
        until("its connection is closed", || listening(&server) == 0).await;
        now.fetch_add(UP, Ordering::SeqCst);
    }
    Ok(())
}

/// A process is registered once, with the terms of its longest-waiting caller.
#[tokio::test]
async fn other_terms_take_the_place_of_the_former() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    for round in 1..=10 {
        let queue = Arc::clone(&consumer);
        let lease_time = LEASE + Duration::from_millis(round);
        let waits =
            tokio::spawn(async move { queue.wait_to_lease(lease_time, None, 2 * PATIENCE).await });
        let terms = format!(" {} ", lease_time.as_millis());
        until("it is registered by its terms", || {
            registered(&server).iter().any(|one| one.contains(&terms))
        })
        .await;
        assert_eq!(waiting(&server, "a"), 1, "{:?}", registered(&server));
        waits.abort();
        assert!(waits.await.is_err(), "it waited still");
    }
    let mut set = JoinSet::new();
    for _ in 0..3 {
        receiving(&mut set, &consumer);
        until("it waits", || waiting(&server, "a") == 1).await;
        let _ = producer.push_one("hello").await?;
        assert_eq!(received(&mut set).await, 1);
    }
    let counters = producer.counters().await?;
    // The first of these waits may be registered with the old terms.
    assert!(counters.released <= 1, "{counters:?}");
    Ok(())
}

/// The channel of a process outlives its connection, and so do its registrations.
#[tokio::test]
async fn a_connection_that_was_lost_leaves_no_second_registration() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    for _ in 0..3 {
        let mut set = one_waiting(&server, &consumer).await;
        for _ in 0..3 {
            let before = registered(&server);
            server.ask::<()>(&["CLIENT", "KILL", "TYPE", "pubsub"])?;
            until("it waits again", || {
                registered(&server).iter().any(|one| !before.contains(one))
            })
            .await;
            assert_eq!(waiting(&server, "a"), 1, "{:?}", registered(&server));
        }
        let _ = producer.push_one("hello").await?;
        assert_eq!(received(&mut set).await, 1);
    }
    assert_eq!(producer.counters().await?.released, 0);
    Ok(())
}

/// Each dead process costs a push at most one extra check, and no message.
#[tokio::test]
async fn many_dead_processes_release_nothing_and_hide_nobody() -> Test {
    let server = Server::start()?;
    let there = backend(&server).await?;
    let (producer, alive) = (open(&there, "a").await?, open(&there, "a").await?);
    for dead in 0..5 {
        let here = backend(&server).await?;
        let consumer = open(&here, "a").await?;
        let mut set = JoinSet::new();
        receiving(&mut set, &consumer);
        until("it waits", || waiting(&server, "a") == dead + 1).await;
        set.shutdown().await;
        drop((consumer, here));
        until("its connection is closed", || listening(&server) == 0).await;
    }
    let mut set = JoinSet::new();
    for _ in 0..2 {
        receiving(&mut set, &alive);
    }
    until("they wait", || waiting(&server, "a") == 6).await;
    producer.push_all(&vec![Push::new("hello"); 2]).await?;
    for _ in 0..2 {
        assert_eq!(received(&mut set).await, 1);
    }
    let counters = producer.counters().await?;
    assert_eq!((counters.released, counters.expired), (0, 0));
    assert_eq!(waiting(&server, "a"), 0);
    Ok(())
}
