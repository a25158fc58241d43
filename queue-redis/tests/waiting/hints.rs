//! Which clients a hint wakes, and which hints clients pass on.

use std::{sync::Arc, time::Duration};

use queue_core::{Backend, DelayConfig, LeasingExt, Push, QueueName, Removal};
use real_redis::Server;
use tokio::{task::JoinSet, time::timeout};

use super::{
    LEASE, Test, backend, listening, one_waiting,
    open::open,
    received, receiving, two_clients,
    until::{PATIENCE, until},
    waiting,
};

#[tokio::test]
async fn a_burst_wakes_one_waiter_for_each_message() -> Test {
    let server = Server::start()?;
    let producer = open(&backend(&server).await?, "a").await?;
    let mut set = JoinSet::new();
    // Four processes, four consumers in each.
    for _ in 0..4 {
        let here = backend(&server).await?;
        let consumer = open(&here, "a").await?;
        for _ in 0..4 {
            receiving(&mut set, &consumer);
        }
    }
    until("they wait", || waiting(&server, "a") == 4).await;
    producer.push_all(&vec![Push::new("hello"); 16]).await?;
    for _ in 0..16 {
        assert_eq!(received(&mut set).await, 1);
    }
    Ok(())
}

#[tokio::test]
async fn new_waiters_poll_once_for_each_message_that_woke_nobody() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    for _ in 0..3 {
        let _ = producer.push_one("hello").await?;
    }
    let mut waits = JoinSet::new();
    for _ in 0..5 {
        let consumer = Arc::clone(&consumer);
        waits.spawn(async move { consumer.wait_for_arrival(PATIENCE).await });
    }
    // They take nothing, so no call notifies others of the remaining messages.
    for _ in 0..3 {
        let notified = timeout(PATIENCE / 2, waits.join_next()).await;
        notified.expect("it was notified").expect("it waited")??;
    }
    until("the others wait", || waiting(&server, "a") == 1).await;
    assert_eq!(waits.len(), 2);
    Ok(())
}

#[tokio::test]
async fn a_client_that_starts_to_wait_for_another_queue_is_woken_too() -> Test {
    let server = Server::start()?;
    let here = backend(&server).await?;
    let (first, second) = (open(&here, "a").await?, open(&here, "b").await?);
    let mut set = one_waiting(&server, &first).await;
    receiving(&mut set, &second);
    let _ = second.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    let _ = first.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

#[tokio::test]
async fn a_dropped_wait_passes_its_arrival_on() -> Test {
    let (server, dropped, other) = two_clients().await?;
    let mut set = JoinSet::new();
    {
        let wait = dropped.wait_for_arrival(PATIENCE);
        tokio::pin!(wait);
        // Started and never polled again, so it cannot notice the hint.
        assert!(timeout(Duration::from_millis(1), &mut wait).await.is_err());
        until("it waits", || waiting(&server, "a") == 1).await;
        let _ = other.push_one("hello").await?;
        until("it was notified", || waiting(&server, "a") == 0).await;
        receiving(&mut set, &other);
        assert_eq!(received(&mut set).await, 1);
        receiving(&mut set, &other);
        until("the other waits", || waiting(&server, "a") == 1).await;
    }
    // The forwarded hint makes the other process poll, and wait again.
    until("it was passed on and used up", || {
        let calls = server.command_counts().expect("it counts");
        calls.of("publish") >= 2 && waiting(&server, "a") == 1
    })
    .await;
    let _ = other.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    Ok(())
}

/// A failed call does not use up the arrival that led to it.
#[tokio::test]
async fn a_call_that_failed_passes_its_arrival_on() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (failing, other) = (open(&here, "a").await?, open(&there, "a").await?);
    let mut set = one_waiting(&server, &failing).await;
    // From here on it is only registered.
    set.shutdown().await;
    receiving(&mut set, &other);
    until("both wait", || waiting(&server, "a") == 2).await;
    // A lease on this queue fails as long as this key is in the way.
    server.ask::<()>(&["SET", "qk:{a}:leases", "mine"])?;
    failing
        .lease(1.try_into()?, LEASE)
        .await
        .expect_err("it is in the way");
    server.ask::<()>(&["DEL", "qk:{a}:leases"])?;
    until("it was passed on", || {
        let calls = server.command_counts().expect("it counts");
        calls.of("publish") >= 1
    })
    .await;
    drop(set);
    Ok(())
}

/// A process that was killed while it waited leaves a registration behind; it costs nobody a
/// wake-up.
#[tokio::test]
async fn a_process_that_died_waiting_is_passed_over() -> Test {
    let server = Server::start()?;
    let producer = open(&backend(&server).await?, "a").await?;
    for _ in 0..3 {
        let here = backend(&server).await?;
        let consumer = open(&here, "a").await?;
        let before = waiting(&server, "a");
        let mut set = JoinSet::new();
        receiving(&mut set, &consumer);
        until("it waits", || waiting(&server, "a") == before + 1).await;
        set.shutdown().await;
        drop((here, consumer));
        until("its connection is closed", || listening(&server) == 0).await;
    }
    let here = backend(&server).await?;
    let consumer = open(&here, "a").await?;
    let mut set = JoinSet::new();
    receiving(&mut set, &consumer);
    until("one more waits", || waiting(&server, "a") == 4).await;
    let _ = producer.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    assert_eq!(waiting(&server, "a"), 0);
    Ok(())
}

/// The server notifies one waiter of a due time. If that waiter leaves, another must learn the due time
/// (D5).
#[tokio::test]
async fn a_dropped_wait_towards_a_due_time_is_taken_over() -> Test {
    const HOUR: Duration = Duration::from_secs(3600);
    let server = Server::start()?;
    let backends = [backend(&server).await?, backend(&server).await?];
    let name = QueueName::new("a")?;
    let config = DelayConfig::default();
    let mut consumers = Vec::new();
    for (nth, backend) in backends.iter().enumerate() {
        let consumer = backend.open_delay(&name, &config).await?;
        consumers.push(tokio::spawn(async move {
            let received = consumer.receive(1, LEASE, 2 * HOUR).await;
            received.map(|received| received.len())
        }));
        until("it waits", || waiting(&server, "a") == nth + 1).await;
    }
    let calls = |command| {
        let counts = server.command_counts().expect("it counts");
        counts.of(command)
    };
    let producer = backend(&server).await?.open_delay(&name, &config).await?;
    let _ = producer
        .push_one(Push::new("later").with_due(HOUR / 2))
        .await?;
    until("the first was notified, and sleeps until then", || {
        calls("publish") == 1 && waiting(&server, "a") == 2
    })
    .await;
    for consumer in &consumers {
        consumer.abort();
    }
    let notified = calls("publish");
    until("the other is notified", || calls("publish") > notified).await;
    Ok(())
}

/// Another must learn it, too, if the first waiter's wait ends before the due time.
#[tokio::test]
async fn a_wait_that_ends_before_a_due_time_is_taken_over() -> Test {
    const HOUR: Duration = Duration::from_secs(3600);
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (name, config) = (QueueName::new("a")?, DelayConfig::default());
    let first = here.open_delay(&name, &config).await?;
    let second = there.open_delay(&name, &config).await?;
    let mut notified = JoinSet::new();
    notified.spawn({
        let first = first.clone();
        async move { first.wait_for_arrival(PATIENCE).await }
    });
    until("it waits", || waiting(&server, "a") == 1).await;
    let mut other = JoinSet::new();
    other.spawn(async move { second.receive(1, LEASE, 2 * HOUR).await });
    until("both wait", || waiting(&server, "a") == 2).await;
    let calls = || {
        let counts = server.command_counts().expect("it counts");
        counts.of("publish")
    };
    let _ = first
        .push_one(Push::new("later").with_due(HOUR / 2))
        .await?;
    notified.join_next().await.expect("it waits")??;
    assert!(first.lease(1.try_into()?, LEASE).await?.next.is_some());
    let before = calls();
    first.wait_for_arrival(Duration::from_millis(10)).await?;
    until("the other is notified", || calls() > before).await;
    Ok(())
}

#[tokio::test]
async fn a_removal_wakes_waiters() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let consumer = open(&here, "a").await?;
    let mut set = JoinSet::new();
    for _ in 0..3 {
        receiving(&mut set, &consumer);
    }
    until("they wait", || waiting(&server, "a") == 1).await;
    let name = QueueName::new("a")?;
    assert!(there.remove(&name, Removal::UnlessLeased).await?);
    until("they wait at the next queue", || waiting(&server, "a") == 1).await;
    let producer = open(&there, "a").await?;
    producer.push_all(&vec![Push::new("hello"); 3]).await?;
    for _ in 0..3 {
        assert_eq!(received(&mut set).await, 1);
    }
    Ok(())
}

/// A registered process without a waiting caller is notified of the removal and forwards nothing.
#[tokio::test]
async fn a_gone_waiter_leaves_no_keys_of_a_removed_queue() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let (job, next) = (open(&here, "a").await?, open(&here, "b").await?);
    let mut set = one_waiting(&server, &job).await;
    set.shutdown().await;
    let name = QueueName::new("a")?;
    assert!(there.remove(&name, Removal::UnlessLeased).await?);
    // Its next notice comes after the notice of the removal.
    receiving(&mut set, &next);
    until("it waits for the next", || waiting(&server, "b") == 1).await;
    let _ = next.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    let left: Vec<String> = server.ask(&["KEYS", "qk:{a}*"])?;
    assert_eq!(left, [""; 0]);
    Ok(())
}
