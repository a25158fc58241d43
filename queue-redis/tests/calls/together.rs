//! Forgotten scripts, demoted servers, and pushes that travel together.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use queue_core::{ErrorKind, Outcome, ReliableQueueExt};
use queue_redis::RedisBackend;
use real_redis::Server;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{Queue, Test, command::command, queue, until::PATIENCE};

/// Starts so many pushes at the same time.
fn push(set: &mut JoinSet<queue_core::Result<u64>>, queue: &Queue, count: usize) {
    for _ in 0..count {
        let queue = Arc::clone(queue);
        set.spawn(async move { Ok(queue.push_one("hello").await?.id().get()) });
    }
}

#[tokio::test]
async fn scripts_that_are_forgotten_in_mid_flight_are_loaded_again() -> Test {
    let server = Server::start()?;
    let queue = queue(&RedisBackend::connect(&server.url()).await?).await?;
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        let mut set = JoinSet::new();
        push(&mut set, &queue, 10);
        command(&server, &["SCRIPT", "FLUSH"]);
        while let Some(id) = set.join_next().await {
            assert!(ids.insert(id??), "each push is a message of its own");
        }
    }
    assert_eq!(ids.len(), 200);
    assert_eq!(queue.depth().await?.ready, 200);
    Ok(())
}

#[tokio::test]
async fn a_primary_that_was_demoted_is_left() -> Test {
    let (server, other) = (Server::start()?, Server::builder().with_tcp().start()?);
    let queue = queue(&RedisBackend::connect(&server.url()).await?).await?;
    let port = other.port().expect("it has a port").to_string();
    command(&server, &["REPLICAOF", "127.0.0.1", &port]);
    let error = queue.push_one("hello").await.expect_err("it is a replica");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.is_transient());
    let error = queue.push_one("hello").await.expect_err("it is a replica");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert!(error.to_string().contains("replica"), "{error}");
    command(&server, &["REPLICAOF", "NO", "ONE"]);
    let start = Instant::now();
    while queue.push_one("hello").await.is_err() {
        assert!(start.elapsed() < PATIENCE, "it is the primary again");
        sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

#[tokio::test]
async fn pushes_at_the_same_time_travel_together() -> Test {
    let server = Server::start()?;
    let queue = queue(&RedisBackend::connect(&server.url()).await?).await?;
    queue.push_one("first").await?;
    let before = server.command_counts()?;
    let mut set = JoinSet::new();
    push(&mut set, &queue, 64);
    let mut ids = BTreeSet::new();
    while let Some(id) = set.join_next().await {
        assert!(ids.insert(id??));
    }
    assert_eq!(ids, (2..=65).collect());
    // The first push alone, and the 63 that came meanwhile.
    assert_eq!(server.command_counts()?.since(&before).of("evalsha"), 2);

    let before = server.command_counts()?;
    queue.push_one("alone").await?;
    let one = server.command_counts()?.since(&before);
    assert_eq!(one.of("evalsha"), 1);
    Ok(())
}

#[tokio::test]
async fn dropped_pushes_lose_nothing_of_the_others() -> Test {
    let server = Server::start()?;
    let queue = queue(&RedisBackend::connect(&server.url()).await?).await?;
    for round in 0_u64..20 {
        let mut set = JoinSet::new();
        // The pushes are sent while nothing answers, so that they are dropped before, during and
        // after their calls.
        server.freeze()?;
        for n in 0..32_u64 {
            let queue = Arc::clone(&queue);
            let patience = Duration::from_millis(n % 4 * (round % 3));
            set.spawn(async move {
                let push = queue.push_one("hello");
                if n.is_multiple_of(2) {
                    return push.await.is_ok();
                }
                matches!(timeout(patience, push).await, Ok(Ok(_)))
            });
        }
        sleep(Duration::from_millis(3)).await;
        server.thaw()?;
        let mut confirmed = 0;
        while let Some(pushed) = set.join_next().await {
            confirmed += u64::from(pushed?);
        }
        // The awaited pushes are all there; each other one is there once or not at all.
        assert!(confirmed >= 16, "{confirmed}");
        let depth = queue.depth().await?.ready;
        assert!((confirmed..=32).contains(&depth), "{confirmed} of {depth}");
        let counters = queue.counters().await?;
        assert_eq!(counters.accepted, counters.purged + depth);
        let max = std::num::NonZeroUsize::new(1_000).expect("it is not 0");
        assert_eq!(queue.purge(max).await?, depth);
    }
    Ok(())
}
