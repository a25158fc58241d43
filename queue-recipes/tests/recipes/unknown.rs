//! Settlements that fail: their outcome, and whether the handle still holds the message.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;
use real_redis::{Direction, Proxy};
use tokio::time::timeout;

use crate::{
    ground::{Ground, bodies, dropping, end, leasing, name, push, take},
    recipes::all,
    until::PATIENCE,
};

/// The reply is lost: the retry took effect. A second settlement through the hold would put a second
/// entry in, so the hold is given up.
#[tokio::test]
async fn after_an_unknown_settlement_the_hold_is_given_up() {
    for nth in 0..all(&Ground::start().await.redis).len() {
        let ground = Ground::start().await;
        let proxy = Proxy::before(&ground.server).expect("a proxy");
        let redis = ground.connect(&proxy.url()).await;
        let made = all(&redis).swap_remove(nth);
        if !made.guarantees.calls.contains("lease") {
            continue;
        }
        let name = made.guarantees.name;
        let queue = made.open().await;
        push(&queue, &["m"]).await;
        ground.distribute();
        let receipt = take(&queue, 1).await[0].receipt;
        let heard = proxy.seen(Direction::Replies);
        proxy.hold(Direction::Replies);
        let settling = {
            let queue = leasing(&queue);
            let retry = [Settlement::retry(receipt, Duration::ZERO)];
            tokio::spawn(async move { queue.settle(&retry).await })
        };
        let answered = proxy.beyond(Direction::Replies, heard);
        timeout(PATIENCE, answered)
            .await
            .expect("the server answers");
        proxy.cut();
        let error = settling.await.expect("no panic").expect_err(name);
        proxy.release();
        assert_eq!(error.outcome(), Outcome::Unknown, "{name}: {error}");
        let after = ground.dump();
        for settlement in [
            Settlement::ack(receipt),
            Settlement::retry(receipt, Duration::ZERO),
        ] {
            assert_eq!(end(&queue, settlement).await, Settled::LeaseLost, "{name}");
        }
        assert_eq!(ground.dump(), after, "{name}");
        ground.distribute();
        let again = take(&queue, 9).await;
        assert_eq!(bodies(&again), ["m"], "{name}: once");
    }
}

#[tokio::test]
async fn a_settlement_that_certainly_failed_keeps_the_hold() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(BlockingList::default(), "q").await;
    push(&queue, &["a", "b"]).await;
    let taken = take(&queue, 2).await;
    let _: String = foreign.run(&["SET", "{q}:dead", "no list"]);
    let bury = |delivery: &Delivery| Settlement::bury(delivery.receipt, "why");

    let error = leasing(&queue)
        .settle(&[bury(&taken[0])])
        .await
        .expect_err("refused");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    // The first of a batch is done by then.
    let batch = [Settlement::ack(taken[1].receipt), bury(&taken[0])];
    let error = leasing(&queue).settle(&batch).await.expect_err("refused");
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");

    let _: u64 = foreign.run(&["DEL", "{q}:dead"]);
    assert_eq!(end(&queue, bury(&taken[1])).await, Settled::LeaseLost);
    assert_eq!(end(&queue, bury(&taken[0])).await, Settled::Dead);
    ground.holds(&["list {q}:dead: a"]);
}

/// The same with a private backup's only message in flight: it stays in flight.
#[tokio::test]
async fn a_private_backup_keeps_the_hold_too() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(PrivateBackup::of_client("w7"), "q").await;
    push(&queue, &["a", "b"]).await;
    let a = take(&queue, 1).await.remove(0);
    let _: String = foreign.run(&["RENAME", "{q}:backup:w7", "aside"]);
    let _: String = foreign.run(&["SET", "{q}:backup:w7", "no list"]);
    let ack = Settlement::ack(a.receipt);
    let error = leasing(&queue)
        .settle(std::slice::from_ref(&ack))
        .await
        .expect_err("refused");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    let one = leasing(&queue)
        .receive(1, crate::ground::LONG, Duration::ZERO)
        .await;
    assert_eq!(one.expect("it polls"), [], "one in flight");
    let _: u64 = foreign.run(&["DEL", "{q}:backup:w7"]);
    let _: String = foreign.run(&["RENAME", "aside", "{q}:backup:w7"]);
    assert_eq!(end(&queue, ack).await, Settled::Done);
    assert_eq!(bodies(&take(&queue, 1).await), ["b"]);
}

/// A push of two calls that fails between them has reached the list. Its error is not `NotApplied`, because
/// its producer would push again.
#[tokio::test]
async fn a_push_in_two_calls_that_fails_between_them_is_unknown() {
    let ground = Ground::start().await;
    let redis = ground.connect_without(&["-lpop"]).await;
    let recipe = RecipeBackend::new(&redis, FixedLength::trim_in_two());
    let config = BoundedConfig::new(1);
    let queue = recipe
        .open_bounded(&name("q"), &config)
        .await
        .expect("it opens");
    let _ = queue.push_one(dropping("a")).await.expect("it has room");
    let error = queue.push_one(dropping("b")).await.expect_err("refused");
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    ground.holds(&["list q: a | b"]);
}

/// If the first push of a batch certainly failed, nothing has changed, except that its lock may be taken.
#[tokio::test]
async fn a_first_push_that_certainly_failed_is_undone_unless_its_lock_is_taken() {
    let ground = Ground::start().await;
    let (trim, lock) = (FixedLength::trim_in_two(), KeyLock::default());
    let queues = [ground.open(trim, "q").await, ground.open(lock, "q").await];
    let _: String = ground.foreign().run(&["SET", "q", "no list"]);
    for (queue, push, outcome) in [
        (&queues[0], Push::new("m"), Outcome::NotApplied),
        (
            &queues[1],
            Push::new("m").with_dedup("key", crate::ground::LONG),
            Outcome::Unknown,
        ),
    ] {
        let AnyQueue::Bounded(queue) = queue else {
            panic!("another kind");
        };
        let refused = queue.push_one(dropping(push)).await;
        let error = refused.expect_err("no list");
        assert_eq!(error.outcome(), outcome, "{error}");
    }
}
