//! Wake-ups without a round trip: a push leases its message to a waiter.

use std::sync::Arc;

use queue_core::{
    Backend, BoundedConfig, Holder, Leasing, LeasingExt, PriorityConfig, Push, Pushed, QueueName,
    Settlement,
};
use real_redis::Server;
use tokio::task::JoinSet;

use super::{
    LEASE, Test, backend, one_waiting,
    open::open,
    patient::patient,
    received, receiving, two_clients,
    until::{PATIENCE, until},
    waiting,
};

/// The server executes only the push and its hint.
#[tokio::test]
async fn a_waiter_gets_a_message_without_a_further_call() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    let mut set = one_waiting(&server, &consumer).await;
    let before = server.command_counts()?;
    let _ = producer.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    let counts = server.command_counts()?.since(&before);
    let did = [
        ("evalsha", 1),
        ("publish", 1),
        ("zadd", 1),
        ("rpush", 0),
        ("ltrim", 0),
    ];
    for (name, times) in did {
        assert_eq!(counts.of(name), times, "{name}: {counts:?}");
    }
    let depth = producer.depth().await?;
    assert_eq!((depth.ready, depth.leased), (0, 1));
    Ok(())
}

#[tokio::test]
async fn the_other_kinds_whose_messages_are_ready_at_once_do_the_same() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let name = QueueName::new("a")?;
    let priority = PriorityConfig::default();
    let consumer = here.open_priority(&name, &priority).await?;
    let producer = there.open_priority(&name, &priority).await?;
    let mut set = JoinSet::new();
    receiving(&mut set, &consumer);
    until("it waits", || waiting(&server, "a") == 1).await;
    let before = server.command_counts()?;
    let _ = producer
        .push_one(Push::new("hello").with_priority(7))
        .await?;
    assert_eq!(received(&mut set).await, 1);
    assert_eq!(server.command_counts()?.since(&before).of("evalsha"), 1);

    let name = QueueName::new("b")?;
    let bounded = BoundedConfig::new(1);
    let consumer = here.open_bounded(&name, &bounded).await?;
    let producer = there.open_bounded(&name, &bounded).await?;
    receiving(&mut set, &consumer);
    until("it waits", || waiting(&server, "b") == 1).await;
    let before = server.command_counts()?;
    let _ = producer.push_one("hello").await?;
    assert_eq!(received(&mut set).await, 1);
    assert_eq!(server.command_counts()?.since(&before).of("evalsha"), 1);
    let full = producer.push_one("more").await?;
    assert_eq!(full, Pushed::Full, "leased messages take up room");
    Ok(())
}

/// A push with a dedup key, which reads more keys, hands its message over, too.
#[tokio::test]
async fn a_push_that_leaves_a_mark_hands_over() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    for round in 0..2 {
        let mut set = one_waiting(&server, &consumer).await;
        let before = server.command_counts()?;
        let push = queue_core::Push::new("hello").with_dedup(format!("{round}"), LEASE);
        producer.push(&[push]).await?;
        assert_eq!(received(&mut set).await, 1);
        if round == 1 {
            // From the first call the handle learns which keys it needs.
            assert_eq!(server.command_counts()?.since(&before).of("evalsha"), 1);
        }
    }
    assert_eq!(producer.counters().await?.dedup_marks, 2);
    Ok(())
}

/// A process is registered, and nobody waits in it any more.
#[tokio::test]
async fn a_message_for_a_gone_waiter_goes_back_at_once() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    let mut set = one_waiting(&server, &consumer).await;
    set.shutdown().await;
    let _ = producer.push_one("hello").await?;
    // The message is leased for a minute, and the next caller gets it long before.
    let next = producer
        .receive_one(LEASE, PATIENCE)
        .await?
        .expect("it is back");
    assert_eq!(next.attempt, 1);
    assert_eq!(producer.counters().await?.released, 1);
    producer.settle(&[Settlement::ack(next.receipt)]).await?;
    Ok(())
}

#[tokio::test]
async fn a_process_that_is_gone_is_passed_over() -> Test {
    let server = Server::start()?;
    let (here, there) = (backend(&server).await?, backend(&server).await?);
    let consumer = open(&here, "a").await?;
    let mut set = one_waiting(&server, &consumer).await;
    set.shutdown().await;
    drop((consumer, here));
    until("its connection ends", || super::listening(&server) == 0).await;
    let producer = open(&there, "a").await?;
    let _ = producer.push_one("hello").await?;
    let counters = producer.counters().await?;
    assert_eq!((counters.depth.ready, counters.released), (1, 0));
    assert_eq!(waiting(&server, "a"), 0);
    // No token is stored, because no caller got the message.
    assert!(!server.ask::<bool>(&["HEXISTS", "qk:{a}:meta", "token"])?);
    Ok(())
}

#[tokio::test]
async fn a_user_without_publish_can_still_push() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    let _set = one_waiting(&server, &consumer).await;
    server.ask::<()>(&["ACL", "SETUSER", "default", "-publish"])?;
    let _ = producer.push_one("hello").await?;
    let depth = producer.depth().await?;
    assert_eq!((depth.ready, depth.leased), (1, 0));
    Ok(())
}

/// The holder's name is the waiter's.
#[tokio::test]
async fn two_waiters_with_different_terms_get_their_messages() -> Test {
    let (server, consumer, producer) = two_clients().await?;
    let mut set = JoinSet::new();
    for (name, seconds) in [("first", 40), ("second", 50)] {
        let consumer = Arc::clone(&consumer);
        let holder = Holder::new(name)?;
        set.spawn(async move {
            let lease_time = LEASE.mul_f64(f64::from(seconds) / 60.0);
            let waited = consumer
                .wait_to_lease(lease_time, Some(holder), PATIENCE)
                .await;
            let leased = waited.expect("it is served");
            leased
                .deliveries
                .first()
                .map(|one| (one.time_left, lease_time))
        });
    }
    for _ in 0..2 {
        until("it waits", || waiting(&server, "a") == 1).await;
        let _ = producer.push_one("hello").await?;
        let got = set.join_next().await.expect("it waits")?;
        let (left, asked_for) = got.expect("it is handed over");
        assert_eq!(left, asked_for);
    }
    let holders: Vec<Vec<u8>> = server.ask(&["HVALS", "qk:{a}:frames"])?;
    for name in ["first", "second"] {
        assert!(
            holders.iter().any(|value| value == name.as_bytes()),
            "{name}"
        );
    }
    Ok(())
}

/// Backends with the same jitter listen to the same channel.
#[tokio::test]
async fn of_two_on_one_channel_one_has_the_message() -> Test {
    let server = Server::start()?;
    let mut consumers = Vec::new();
    for _ in 0..2 {
        let backend = patient(&server.url())
            .jitter_seed(7)
            .fall_back(PATIENCE)
            .connect()
            .await?;
        consumers.push((open(&backend, "a").await?, backend));
    }
    let mut set = JoinSet::new();
    for (consumer, _) in &consumers {
        let consumer = Arc::clone(consumer);
        set.spawn(async move { consumer.wait_to_lease(LEASE, None, PATIENCE).await });
    }
    until("both wait", || waiting(&server, "a") == 2).await;
    let producer = open(&backend(&server).await?, "a").await?;
    let _ = producer.push_one("hello").await?;
    let got = set.join_next().await.expect("it waits")??;
    assert_eq!(got.deliveries.len(), 1);
    // Neither backend gives the other's message back.
    let counters = producer.counters().await?;
    assert_eq!((counters.depth.leased, counters.released), (1, 0));
    let _ = producer.push_one("hello").await?;
    let got = set.join_next().await.expect("it waits")??;
    assert_eq!(got.deliveries.len(), 1);
    assert_eq!(producer.counters().await?.released, 0);
    Ok(())
}
