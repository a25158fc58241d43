//! Waiting through failures: lost registrations, lost connections, a marker of another type.

use std::{sync::Arc, time::Duration};

use queue_core::LeasingExt;
use queue_redis::ConnectionHealth;
use real_redis::Server;

use super::{
    LEASE, Test, backend, one_waiting,
    open::open,
    patient::patient,
    received, receiving,
    until::{PATIENCE, until},
    waiting,
};

/// A flush removes registrations; a call that creates the queue again registers again.
#[tokio::test]
async fn a_waiter_that_polls_survives_a_flush() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let consumer = open(&here, "a").await?;
    let mut set = one_waiting(&server, &consumer).await;
    set.shutdown().await;
    server.ask::<()>(&["FLUSHALL"])?;
    receiving(&mut set, &consumer);
    until("it waits again", || waiting(&server, "a") == 1).await;
    let there = backend(&server).await?;
    let _ = open(&there, "a").await?.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

#[tokio::test]
async fn a_killed_waiter_waits_again() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let consumer = open(&here, "a").await?;
    assert!(matches!(here.health().waiter, ConnectionHealth::Unused));
    for _ in 0..5 {
        let mut set = one_waiting(&server, &consumer).await;
        assert!(matches!(here.health().waiter, ConnectionHealth::Up));
        server.ask::<()>(&["CLIENT", "KILL", "TYPE", "pubsub"])?;
        server.ask::<()>(&["DEL", "qk:{a}:arrivals"])?;
        until("it waits again", || waiting(&server, "a") == 1).await;
        let there = backend(&server).await?;
        let _ = open(&there, "a").await?.push_one("hello").await?;
        assert_eq!(received(&mut set).await, 1);
    }
    Ok(())
}

#[tokio::test]
async fn a_restart_wakes_waiters() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let consumer = open(&here, "a").await?;
    let mut set = one_waiting(&server, &consumer).await;
    server.restart()?;
    server.ask::<()>(&["DEL", "qk:{a}:arrivals"])?;
    until("it waits again", || waiting(&server, "a") == 1).await;
    let there = backend(&server).await?;
    let _ = open(&there, "a").await?.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

#[tokio::test]
async fn a_marker_of_the_wrong_type_is_shown_and_bridged() -> Test {
    let server = Server::start()?;
    let here = patient(&server.url())
        .fall_back(Duration::from_millis(20))
        .connect()
        .await?;
    let consumer = open(&here, "a").await?;
    server.ask::<()>(&["SET", "qk:{a}:arrivals", "mine"])?;
    let waiting = tokio::spawn({
        let consumer = Arc::clone(&consumer);
        // Each wait ends with the fall-back interval, also if its error says that it could not register.
        async move {
            loop {
                let _ = consumer.wait_for_arrival(PATIENCE).await;
            }
        }
    });
    until("it is shown", || {
        matches!(here.health().waiter, ConnectionHealth::Down(Some(_)))
    })
    .await;
    let ConnectionHealth::Down(Some(error)) = here.health().waiter else {
        panic!("it was just down");
    };
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
    let error = consumer.wait_for_arrival(PATIENCE).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    let texts = queue_testing::chain::texts(&error).join(": ");
    assert!(texts.contains("WRONGTYPE"), "{texts}");
    server.ask::<()>(&["DEL", "qk:{a}:arrivals"])?;
    until("it is mended", || here.health().is_up()).await;
    waiting.abort();
    let _ = consumer.push_one("hello").await?;
    assert_eq!(consumer.receive(1, LEASE, PATIENCE).await?.len(), 1);
    Ok(())
}
