//! Calls without an answer fail after their own timeout, also while others wait before them.

use std::{sync::Arc, time::Duration};

use queue_core::{ErrorKind, LeasingExt, Outcome};
use real_redis::{Direction, Proxy, Server};
use tokio::{task::JoinSet, time::Instant};

use super::{
    BRIEF, Queue, Test,
    errors::assert_passes,
    open::open,
    patient::patient,
    until::{PATIENCE, until},
};

/// Starts `count` pushes at the same time. Returns each result and its duration.
async fn push(queue: &Queue, count: usize) -> Vec<(queue_core::Result<()>, Duration)> {
    let mut set = JoinSet::new();
    for _ in 0..count {
        let queue = Arc::clone(queue);
        set.spawn(async move {
            let made = Instant::now();
            let pushed = queue.push_one("hello").await;
            (pushed.map(drop), made.elapsed())
        });
    }
    set.join_all().await
}

#[tokio::test]
async fn a_hung_server_keeps_a_crowd_no_longer_than_one() -> Test {
    let server = Server::start()?;
    let builder = patient(&server.url()).response_timeout(BRIEF);
    let queue = open(&builder.connect().await?, "a").await?;
    let _ = queue.push_one("hello").await?;
    server.freeze()?;
    let mut unknown = 0;
    for (pushed, took) in push(&queue, 1_500).await {
        let error = pushed.expect_err("it is frozen");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.is_transient());
        assert!(took < PATIENCE, "{took:?}: {error}");
        unknown += u32::from(error.outcome() == Outcome::Unknown);
    }
    // The call that came first was sent. Nothing more is sent on a silent connection.
    assert_eq!(unknown, 1);
    server.thaw()?;
    Ok(())
}

#[tokio::test]
async fn a_crowd_during_an_outage_gets_the_reason_in_time() -> Test {
    let server = Server::start()?;
    let builder = patient(&server.url()).response_timeout(BRIEF);
    let backend = builder.connect().await?;
    let queue = open(&backend, "a").await?;
    server.kill()?;
    until("the outage is noticed", || !backend.health().is_up()).await;
    let socket = server.socket().display().to_string();
    for (pushed, took) in push(&queue, 300).await {
        let error = pushed.expect_err("there is no server");
        assert_passes(&error, &[&socket]);
        assert!(took < PATIENCE, "{took:?}: {error}");
    }
    Ok(())
}

/// All that wait for a limited time: the first one looks for a connection, and the others wait behind it.
#[tokio::test]
async fn waiting_calls_without_a_server_say_that_nothing_was_sent() -> Test {
    let server = Server::start()?;
    // The response timeout is longer than the callers wait.
    let backend = patient(&server.url()).connect().await?;
    let queue = open(&backend, "a").await?;
    server.kill()?;
    until("the outage is noticed", || !backend.health().is_up()).await;
    let socket = server.socket().display().to_string();
    let mut set = JoinSet::new();
    for _ in 0..20 {
        let queue = Arc::clone(&queue);
        set.spawn(async move { queue.receive(1, BRIEF, Duration::from_millis(300)).await });
    }
    for received in set.join_all().await {
        let error = received.expect_err("there is no server");
        assert_passes(&error, &[&socket]);
    }
    Ok(())
}

#[tokio::test]
async fn a_crowd_waits_for_a_server_that_comes_back() -> Test {
    let server = Server::start()?;
    let builder = patient(&server.url());
    let backend = builder.connect().await?;
    let queue = open(&backend, "a").await?;
    server.shut_down()?;
    until("the outage is noticed", || !backend.health().is_up()).await;
    let pushes = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { push(&queue, 300).await }
    });
    tokio::task::yield_now().await;
    server.start_again()?;
    for (pushed, _) in pushes.await? {
        pushed?;
    }
    assert_eq!(queue.depth().await?.ready, 300);
    assert!(backend.health().is_up());
    Ok(())
}

#[tokio::test]
async fn a_connection_that_breaks_costs_only_what_was_sent() -> Test {
    let server = Server::start()?;
    let proxy = Proxy::before(&server)?;
    let builder = patient(&proxy.url());
    let backend = builder.connect().await?;
    let queue = open(&backend, "a").await?;
    proxy.hold(Direction::Replies);
    let before = proxy.seen(Direction::Replies);
    let pushes = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { push(&queue, 300).await }
    });
    // The first call is done, and the others wait for its answer.
    proxy.beyond(Direction::Replies, before).await;
    proxy.cut();
    until("it is noticed", || !backend.health().is_up()).await;
    proxy.release();
    let mut unknown = 0;
    for (pushed, _) in pushes.await? {
        if let Err(error) = pushed {
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            unknown += 1;
        }
    }
    assert_eq!(unknown, 1);
    assert_eq!(queue.depth().await?.ready, 300);
    Ok(())
}
