//! The keys of a queue on the server hold no more than they must.

#![cfg(unix)]

#[path = "support/patient.rs"]
mod patient;

use std::{collections::BTreeMap, error::Error as StdError, num::NonZeroUsize, time::Duration};

use queue_core::{
    AnyQueue, Backend, DelayConfig, Distinct, ErrorKind, Insert, LeasingExt, Outcome, Push, Pushed,
    QueueConfig, QueueKind, QueueName, ReliableConfig, Removal, Result, RotatingQueueExt,
    Settlement,
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

/// The number of members of each key.
fn sizes(server: &Server) -> std::result::Result<BTreeMap<String, u64>, Box<dyn StdError>> {
    let keys: Vec<String> = server.ask(&["KEYS", "qk:{*}:*"])?;
    let mut sizes = BTreeMap::new();
    for key in keys {
        let of_type: String = server.ask(&["TYPE", &key])?;
        let count = match &*of_type {
            "zset" => "ZCARD",
            "hash" => "HLEN",
            "list" => "LLEN",
            other => panic!("{key} holds a {other}"),
        };
        sizes.insert(key.clone(), server.ask(&[count, &key])?);
    }
    Ok(sizes)
}

/// A producer repeatedly replaces undelivered messages behind another one: the replaced messages leave nothing. They
/// are ready and delayed, and have a longest wait or none.
#[tokio::test]
async fn replacing_for_ever_leaves_nothing_behind() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    for kind in leasing_kinds() {
        let queue = name("latest");
        let opened = backend.open(&queue, &QueueConfig::of(kind, 10)).await?;
        let leasing = opened.leasing().expect("it leases");
        let _ = leasing.push_one("at the head").await?;
        let mut before = BTreeMap::new();
        for round in 0..200_u32 {
            for key in ["a", "b", "c"] {
                let longest = Distinct::new(key).at_latest(LONG);
                let push = Push::new(round.to_be_bytes().to_vec());
                let push = match key {
                    "a" => push.with_distinct(key),
                    "b" => push.with_distinct(longest),
                    _ => push.with_distinct(longest).with_due(LONG),
                };
                let pushed = leasing.push_one(push).await?;
                let replaced = matches!(pushed, Pushed::Replaced { .. });
                assert_eq!(replaced, round > 0, "{kind}: {pushed:?}");
            }
            if round == 1 {
                before = sizes(&server)?;
            }
        }
        assert_eq!(sizes(&server)?, before, "{kind}");
        let depth = leasing.depth().await?;
        assert_eq!((depth.ready, depth.delayed), (3, 1), "{kind}");
        assert!(backend.remove(&queue, Removal::UnlessLeased).await?);
    }
    Ok(())
}

/// Distinct keys have keys of their own on a bounded queue alone, and the other kinds name no key more for them.
#[tokio::test]
async fn distinct_keys_are_among_the_frames() -> Test {
    let server = Server::start()?;
    let backend = patient(&server.url()).connect().await?;
    for kind in leasing_kinds() {
        let opened = backend
            .open(&name(kind.as_str()), &QueueConfig::of(kind, 10))
            .await?;
        let distinct = Push::new("x").with_distinct("key");
        opened.put(&[distinct]).await?;
        let frames = format!("qk:{{{kind}}}:frames");
        let held: u64 = server.ask(&["HEXISTS", &frames, "kkey"])?;
        let flags: Option<String> =
            server.ask(&["HGET", &format!("qk:{{{kind}}}:meta"), "flags"])?;
        let own: u64 = server.ask(&["EXISTS", &format!("qk:{{{kind}}}:distinct")])?;
        let expected = match kind {
            QueueKind::Bounded => (0, None, 1),
            _ => (1, Some("d".to_owned()), 0),
        };
        assert_eq!((held, flags, own), expected, "{kind}");
    }
    Ok(())
}

fn leasing_kinds() -> impl Iterator<Item = QueueKind> {
    let leases = |kind: &QueueKind| *kind != QueueKind::Rotating;
    QueueKind::ALL.into_iter().filter(leases)
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
    let _ = queue.push_one("body").await?;
    let mut cancelled = Vec::new();
    for _ in 0..10_000 / FEW {
        let pushed = queue.push(&pushes[..FEW]).await?;
        cancelled.extend(pushed.iter().filter_map(|pushed| pushed.id()));
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
    let batch = [Push::new("gone").with_due(Duration::ZERO)];
    queue.push(&batch).await?;
    server.ask::<()>(&["DEL", "qk:{d}:frames"])?;
    let _ = queue
        .push_one(Push::new("here").with_due(Duration::ZERO))
        .await?;
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
    if let AnyQueue::Rotating(ring) = &opened {
        let keyed = Insert::new("e").with_key("key");
        ring.insert(&[keyed]).await?;
        ring.visit(2, Duration::ZERO).await?;
    }
    if let Some(leasing) = opened.leasing() {
        let _ = leasing
            .push_one(Push::new("e").with_distinct("key"))
            .await?;
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
        let _ = pushed?;
        let there: usize = server.ask(&["EXISTS", "qk:{job}:meta"])?;
        let listed = backend.queues(None, NonZeroUsize::MIN).await?;
        assert_eq!(listed.len(), there, "in round {round}");
        let entries: usize = server.ask(&["ZCARD", "qk:queues"])?;
        assert_eq!(entries, there, "in round {round}");
    }
    Ok(())
}
