//! A call of a feature that a strategy lacks fails with an error that names it, and nothing is sent.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    call::{Call, Service},
    *,
};

use crate::{
    ground::{Ground, LONG, dropping, push},
    recipes::{Made, all},
};

const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// A call of this method that asks for nothing special.
fn call_of(name: &str) -> Call {
    let id = MessageId::new(1);
    let receipt = Receipt::new(id, Token::new(1));
    match name {
        "lease" => Call::Lease(ONE, LONG),
        "settle" => Call::Settle(vec![Settlement::ack(receipt)]),
        "settle_and_lease" => Call::SettleAndLease(vec![Settlement::ack(receipt)], ONE, LONG, None),
        "extend" => Call::Extend(vec![receipt.into()], LONG),
        "wait_for_arrival" => Call::WaitForArrival(Duration::ZERO),
        "wait_to_lease" => Call::WaitToLease(LONG, None, Duration::ZERO),
        "counters" => Call::Counters,
        "dead_letters" => Call::DeadLetters(Page::first(1)),
        "revive" => Call::Revive(vec![id], Revival::WithState),
        "discard" => Call::Discard(vec![id]),
        "pause" => Call::Pause,
        "resume" => Call::Resume,
        "purge" => Call::Purge(ONE),
        "cancel" => Call::Cancel(vec![id]),
        "peek" => Call::Peek(Place::Ready, Page::first(1)),
        "find" => Call::Find(vec![id]),
        "wait_for_end" => Call::WaitForEnd(id, Duration::ZERO),
        "reschedule" => Call::Reschedule(vec![id], Due::After(LONG)),
        "next_due" => Call::NextDue,
        "wait_for_room" => Call::WaitForRoom(Duration::ZERO),
        "resize" => Call::Resize(ONE),
        name => panic!("a recipe lacks {name}: write down how to call it"),
    }
}

/// Pushes these messages; a bounded queue drops its oldest.
fn put(kind: QueueKind, pushes: Vec<Push>) -> Call {
    let pushes = pushes.into_iter().map(|push| match kind {
        QueueKind::Bounded => dropping(push),
        _ => push,
    });
    Call::put(kind, pushes.collect())
}

/// Checks that the call is refused, and that nothing was sent.
async fn refused(ground: &Ground, made: &Made, call: Call, kind: ErrorKind, named: &str) {
    let queue = made.open().await;
    let (before, sent) = (ground.dump(), commands(ground));
    let what = format!("{}: {call:?}", made.guarantees.name);
    let error = queue.call(call).await.expect_err(&what);
    assert_eq!(
        (error.kind(), error.outcome()),
        (kind, Outcome::NotApplied),
        "{what}: {error}"
    );
    let text = error.to_string();
    assert!(
        text.contains(named) && text.contains(made.guarantees.name),
        "{what}: {text}"
    );
    assert_eq!(error.queue().map(QueueName::as_str), Some("q"), "{what}");
    assert_eq!(
        (ground.dump(), commands(ground) - sent),
        (before, 0),
        "{what}"
    );
}

/// The commands that the server has executed, without the test's own.
fn commands(ground: &Ground) -> u64 {
    const READS: [&str; 14] = [
        "info",
        "keys",
        "type",
        "lrange",
        "zrange",
        "smembers",
        "hgetall",
        "get",
        "xrange",
        "auth",
        "hello",
        "client|setinfo",
        "client|setname",
        "select",
    ];
    let counts = ground.server.command_counts().expect("it counts");
    let sent = counts.iter().filter(|(name, _)| !READS.contains(name));
    sent.map(|(_, count)| count).sum()
}

#[tokio::test]
async fn limits_of_a_queue_are_refused_by_an_open() {
    let ground = Ground::start().await;
    for made in all(&ground.redis) {
        let mut config = QueueConfig::of(made.guarantees.kind, 3);
        let Some(leasing) = config.leasing_mut() else {
            continue;
        };
        leasing.at_once = Some(1);
        let (before, sent) = (ground.dump(), commands(&ground));
        let name = QueueName::new("q").unwrap();
        let opened = made.backend.open(&name, &config).await;
        let error = opened.expect_err(made.guarantees.name);
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
        assert!(
            text.contains("limits of a queue") && text.contains(made.guarantees.name),
            "{text}"
        );
        assert_eq!(
            (ground.dump(), commands(&ground) - sent),
            (before, 0),
            "{text}"
        );
    }
}

#[tokio::test]
async fn each_missing_method_is_named() {
    for nth in 0..all(&Ground::start().await.redis).len() {
        let ground = Ground::start().await;
        let made = all(&ground.redis).swap_remove(nth);
        push(&made.open().await, &["there"]).await;
        let guarantees = &made.guarantees;
        let missing = Call::names(guarantees.kind).filter(|name| !guarantees.calls.contains(name));
        for name in missing {
            refused(
                &ground,
                &made,
                call_of(name),
                ErrorKind::Configuration,
                name,
            )
            .await;
        }
    }
}

#[tokio::test]
async fn each_part_of_a_message_without_a_place_is_named_for_the_whole_batch() {
    let ground = Ground::start().await;
    for made in all(&ground.redis) {
        ground.foreign().run::<String>(&["FLUSHALL"]);
        let (kind, fine) = (made.guarantees.kind, Push::new("fine"));
        let invalid = ErrorKind::Invalid;
        if !made.guarantees.has(Feature::Headers) {
            let batch = vec![fine.clone(), Push::new("x").with_header("tenant", "acme")];
            refused(&ground, &made, put(kind, batch), invalid, "headers").await;
        }
        if !made.guarantees.has(Feature::Dedup) && kind != QueueKind::Rotating {
            let batch = vec![fine.clone(), Push::new("x").with_dedup("key", LONG)];
            refused(&ground, &made, put(kind, batch), invalid, "dedup keys").await;
        }
        if !made.guarantees.has(Feature::Unique) && kind != QueueKind::Rotating {
            let batch = vec![fine.clone(), Push::new("x").with_unique("key", LONG)];
            let named = match made.guarantees.has(Feature::Dedup) {
                true => "end with their messages",
                false => "dedup keys",
            };
            refused(&ground, &made, put(kind, batch), invalid, named).await;
        }
        if !made.guarantees.has(Feature::Due) && kind != QueueKind::Rotating {
            let batch = vec![fine.clone(), Push::new("x").with_due(LONG)];
            refused(&ground, &made, put(kind, batch), invalid, "due times").await;
        }
        if !made.guarantees.has(Feature::TimeToLive) && kind != QueueKind::Rotating {
            let limited = Push::new("x").with_time_to_live(TimeToLive::drop_after(LONG));
            let batch = vec![fine.clone(), limited];
            refused(&ground, &made, put(kind, batch), invalid, "times to live").await;
        }
        if !made.guarantees.has(Feature::Keys) {
            let named = match kind {
                QueueKind::Rotating => {
                    Call::Insert(vec![Insert::new("fine"), Insert::new("x").with_key("key")])
                }
                kind => put(
                    kind,
                    vec![fine.clone(), Push::new("x").with_distinct("key")],
                ),
            };
            refused(&ground, &made, named, invalid, "distinct keys").await;
        }
    }
}

#[tokio::test]
async fn each_policy_disposition_and_priority_that_is_missing_is_named() {
    let ground = Ground::start().await;
    for made in all(&ground.redis) {
        ground.foreign().run::<String>(&["FLUSHALL"]);
        let guarantees = &made.guarantees;
        let setup = ErrorKind::Configuration;
        if guarantees.kind == QueueKind::Bounded && !guarantees.has(Feature::Reject) {
            let reject = Call::Push(vec![Push::new("x")]);
            refused(&ground, &made, reject, setup, "it drops the oldest").await;
        }
        if guarantees.kind == QueueKind::Priority {
            let batch = vec![
                Push::new("fine").with_priority(10),
                Push::new("x").with_priority(5),
            ];
            refused(
                &ground,
                &made,
                Call::Push(batch),
                ErrorKind::Invalid,
                "priority of 5",
            )
            .await;
        }
        let receipt = Receipt::new(MessageId::new(1), Token::new(1));
        for (feature, settlement, name) in [
            (Feature::Retry, Settlement::retry(receipt, LONG), "retry"),
            (Feature::Defer, Settlement::defer(receipt, LONG), "defer"),
            (Feature::Release, Settlement::release(receipt), "release"),
            (Feature::Bury, Settlement::bury(receipt, "why"), "bury"),
        ] {
            let settles = guarantees.calls.contains("settle");
            if settles && !guarantees.has(feature) {
                let batch = vec![Settlement::ack(receipt), settlement];
                refused(&ground, &made, Call::Settle(batch), setup, name).await;
            }
        }
    }
}

/// The limits of the contract hold for a whole batch as well.
#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_its_batch() {
    let ground = Ground::start().await;
    for made in all(&ground.redis) {
        ground.foreign().run::<String>(&["FLUSHALL"]);
        let queue = made.open().await;
        let before = ground.dump();
        let large = Push::new(vec![b'x'; 9 << 20]);
        let batch = put(made.guarantees.kind, vec![Push::new("fine"), large]);
        let error = queue.call(batch).await.expect_err("refused");
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::Invalid, Outcome::NotApplied)
        );
        assert_eq!(ground.dump(), before, "{}", made.guarantees.name);
    }
}
