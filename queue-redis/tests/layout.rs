//! The keys of a queue on the server hold no more than they must.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;

use std::{error::Error as StdError, num::NonZeroUsize, time::Duration};

use queue_core::{
    AnyQueue, Backend, BoundedConfig, BoundedQueueExt, DelayConfig, DelayQueueExt, ErrorKind,
    Insert, LeasingExt, Offer, Offered, Outcome, Overflow, Push, QueueConfig, QueueKind, QueueName,
    ReliableConfig, ReliableQueueExt, Removal, Result, RotatingQueueExt, Scheduled, Settlement,
};
use queue_redis::RedisBackend;
use real_redis::Server;

use self::patient::patient;

type Test = std::result::Result<(), Box<dyn StdError>>;

const LONG: Duration = Duration::from_secs(3600);

fn name(name: &str) -> QueueName {
    QueueName::new(name).expect("a good name")
}

async fn open(backend: &RedisBackend, kind: QueueKind, queue: &QueueName) -> Result<()> {
    let opened = backend.open(queue, &QueueConfig::of(kind, 3)).await;
    opened.map(drop)
}

#[tokio::test]
async fn a_key_that_holds_something_else_is_named_at_open() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    for (kind, suffix) in [
        (QueueKind::Reliable, "meta"),
        (QueueKind::Reliable, "ready"),
        (QueueKind::Delay, "line"),
        (QueueKind::Delay, "firsts"),
        (QueueKind::Priority, "delayed"),
        (QueueKind::Bounded, "room"),
        (QueueKind::Bounded, "distinct"),
        (QueueKind::Rotating, "ring"),
        (QueueKind::Rotating, "due"),
    ] {
        let queue = name(&format!("{kind}-{suffix}"));
        let key = format!("qk:{{{queue}}}:{suffix}");
        server.ask::<()>(&["SET", &key, "somebody else's"])?;
        let error = open(&backend, kind, &queue).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains(&key), "{error}");
        assert_eq!(server.ask::<i64>(&["DEL", &key])?, 1);
        open(&backend, kind, &queue).await?;
    }
    Ok(())
}

/// A producer repeatedly replaces an undelivered entry behind another one: the replaced entries leave
/// nothing.
#[tokio::test]
async fn replacing_for_ever_leaves_nothing_behind() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    let config = BoundedConfig::new(10);
    let queue = backend.open_bounded(&name("latest"), &config).await?;
    queue.offer_one("at the head", Overflow::Reject).await?;
    for round in 0..2_000_u32 {
        for key in ["a", "b"] {
            let offer = Offer::new(round.to_be_bytes().to_vec()).with_distinct(key);
            let offered = queue.offer_one(offer, Overflow::Reject).await?;
            assert_eq!(matches!(offered, Offered::Replaced { .. }), round > 0);
        }
    }
    for (count, key, left) in [
        ("LLEN", "ready", 1),
        ("ZCARD", "line", 2),
        ("HLEN", "frames", 4), // and their places in line
        ("HLEN", "distinct", 2),
        ("HLEN", "owned", 2),
        ("ZCARD", "delayed", 0),
    ] {
        let key = format!("qk:{{latest}}:{key}");
        assert_eq!(server.ask::<u64>(&[count, &key])?, left, "{key}");
    }
    Ok(())
}

/// More than a function of Lua takes as arguments.
#[tokio::test]
async fn any_number_of_cancelled_messages_may_stand_before_a_pack() -> Test {
    const FEW: usize = 31;
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name("cancelled"), &config).await?;
    let pushes = vec![Push::new("body"); 64];
    queue.push_one("body").await?;
    let mut cancelled = Vec::new();
    for _ in 0..10_000 / FEW {
        let pushed = queue.push(&pushes[..FEW]).await?;
        cancelled.extend(pushed.iter().map(|pushed| pushed.id()));
    }
    queue.push(&pushes).await?;
    for ids in cancelled.chunks(128) {
        queue.cancel(ids).await?;
    }
    for messages in [10, 55] {
        let max = NonZeroUsize::new(messages).expect("not zero");
        let leased = queue.lease(max, LONG).await?.deliveries;
        assert_eq!(leased.len(), messages);
        let acks: Vec<_> = leased
            .iter()
            .map(|each| Settlement::ack(each.receipt))
            .collect();
        queue.settle(&acks).await?;
    }
    let depth = queue.depth().await?;
    assert_eq!((depth.ready, depth.leased), (0, 0));
    Ok(())
}

/// A lease and a place whose message was deleted by others: the queue skips them and delivers the other
/// messages.
#[tokio::test]
async fn messages_deleted_by_others_block_nothing() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    let queue = backend
        .open_delay(&name("d"), &DelayConfig::default())
        .await?;
    let batch = [Scheduled::new("gone", Duration::ZERO)];
    queue.schedule(&batch).await?;
    server.ask::<()>(&["DEL", "qk:{d}:frames"])?;
    queue.schedule_one("here", Duration::ZERO).await?;
    let leased = queue.receive(10, LONG, LONG).await?;
    assert_eq!(leased.len(), 1);
    assert_eq!(leased[0].body, "here");
    assert_eq!(queue.depth().await?.ready, 0);
    Ok(())
}

/// A queue with data under each of its keys, and one leased message if it leases.
async fn filled(backend: &RedisBackend, kind: QueueKind, queue: &QueueName) -> Result<()> {
    let mut config = QueueConfig::of(kind, 10);
    if let QueueConfig::Rotating(config) = &mut config {
        config.pace = Some(LONG);
    }
    let opened = backend.open(queue, &config).await?;
    opened.put(&["a", "b", "c", "d"].map(Push::new)).await?;
    match &opened {
        AnyQueue::Rotating(ring) => {
            let keyed = Insert::new("e").with_key("key");
            ring.insert(&[keyed]).await?;
            ring.visit(2, Duration::ZERO).await?;
        }
        AnyQueue::Bounded(bounded) => {
            let keyed = Offer::new("e").with_distinct("key");
            bounded.offer(&[keyed], Overflow::Reject).await?;
        }
        _ => {}
    }
    if let Some(leasing) = opened.leasing() {
        let marked = Push::new("f").with_dedup("key", LONG);
        opened.put(&[marked]).await?;
        let leased = leasing.receive(4, LONG, Duration::ZERO).await?;
        let settlements = [
            Settlement::bury(leased[0].receipt, "no good"),
            Settlement::retry(leased[1].receipt, LONG),
            Settlement::release(leased[2].receipt),
        ];
        leasing.settle(&settlements).await?;
    }
    Ok(())
}

/// A person who deletes the configuration by hand leaves all other keys.
#[tokio::test]
async fn a_removal_that_was_cut_short_is_finished() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    let queue = name("job");
    for kind in QueueKind::ALL {
        filled(&backend, kind, &queue).await?;
        assert_eq!(server.ask::<i64>(&["DEL", "qk:{job}:meta"])?, 1);
        let listed = backend.queues(None, NonZeroUsize::MIN).await?;
        assert_eq!(listed, [], "{kind}: there is no such queue");
        if kind != QueueKind::Rotating {
            let refused = backend.remove(&queue, Removal::UnlessLeased).await;
            let error = refused.expect_err("its leases are there");
            assert_eq!(error.kind(), ErrorKind::InUse, "{error}");
        }
        assert!(backend.remove(&queue, Removal::EvenIfLeased).await?);
        assert!(!backend.remove(&queue, Removal::EvenIfLeased).await?);
        let left: Vec<String> = server.ask(&["KEYS", "*"])?;
        assert_eq!(left, [""; 0], "{kind}");
    }
    Ok(())
}

#[tokio::test]
async fn a_removal_refuses_unknown_layouts_and_foreign_keys() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    let queue = name("job");
    let config = "kind=reliable layout=99 of=tomorrow";
    server.ask::<()>(&["HSET", "qk:{job}:meta", "config", config])?;
    let refused = backend.remove(&queue, Removal::EvenIfLeased).await;
    let error = refused.expect_err("it may have other keys");
    assert_eq!(error.kind(), ErrorKind::ConfigMismatch, "{error}");
    assert!(error.to_string().contains(config), "{error}");
    assert_eq!(server.ask::<i64>(&["DEL", "qk:{job}:meta"])?, 1);

    open(&backend, QueueKind::Reliable, &queue).await?;
    server.ask::<()>(&["SET", "qk:{job}:ring", "mine"])?;
    let refused = backend.remove(&queue, Removal::EvenIfLeased).await;
    let error = refused.expect_err("somebody else's");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    assert!(error.to_string().contains("qk:{job}:ring"), "{error}");
    assert_eq!(server.ask::<i64>(&["DEL", "qk:{job}:ring"])?, 1);
    assert!(backend.remove(&queue, Removal::EvenIfLeased).await?);
    Ok(())
}

/// A call that creates a queue again during its removal finds the old entry in the list.
#[tokio::test]
async fn a_queue_created_again_during_its_removal_is_listed() -> Test {
    let server = Server::start()?;
    let (backend, other) = (
        patient(&server.url()).connect().await?,
        patient(&server.url()).connect().await?,
    );
    let job = name("job");
    let queue = backend
        .open_reliable(&job, &ReliableConfig::default())
        .await?;
    for round in 0..200 {
        let remove = other.remove(&job, Removal::UnlessLeased);
        let (removed, pushed) = tokio::join!(remove, queue.push_one("x"));
        removed?;
        pushed?;
        let there: usize = server.ask(&["EXISTS", "qk:{job}:meta"])?;
        let listed = backend.queues(None, NonZeroUsize::MIN).await?;
        assert_eq!(listed.len(), there, "in round {round}");
        let entries: usize = server.ask(&["ZCARD", "qk:queues"])?;
        assert_eq!(entries, there, "in round {round}");
    }
    Ok(())
}
