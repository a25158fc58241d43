//! D1, D3: a message that is pushed with a due time is delayed until then.

use std::time::Duration;

use queue_core::*;

use super::later;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn d1_a_pushed_message_is_never_early(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for delay in [1, 2, 500, 86_400_000] {
        queue.put(later(delay)).await;
        stage.advance(delay - 1).await;
        let next = take_nothing(&*queue).await;
        assert_eq!(next, Some(ms(1)), "1 ms before it is due");
        assert_eq!(depth(&*queue).await, [0, 1, 0, 0]);
        stage.advance(1).await;
        let places = depth(&*queue).await;
        assert_eq!(places, [1, 0, 0, 0], "ready from its due time on");
        assert_eq!(drain(&*queue).await.len(), 1);
    }
}

pub(crate) async fn d1_a_due_time_is_a_delay_or_a_point_in_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put("x").await;
    let first = take_one(&*queue).await;
    ack(&*queue, &first).await;
    // A token begins with the time of its lease.
    let now = first.receipt.token.get() / Token::PER_MILLI;
    let at = |time| Push::new("x").with_due(Timestamp::from_millis(time));
    queue.put(at(now)).await;
    assert_eq!(drain(&*queue).await, [2], "now is not later");
    queue.put(at(now + 20)).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(20)));
    let delay = Duration::from_micros(10_001);
    queue.put(Push::new("x").with_due(delay)).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(11)), "rounded up");
    stage.advance(11).await;
    assert_eq!(drain(&*queue).await, [4]);
    stage.advance(9).await;
    assert_eq!(drain(&*queue).await, [3]);
}

pub(crate) async fn d1_a_due_time_that_is_over_changes_nothing(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [
        Push::new("a"),
        Push::new("b").with_due(Duration::ZERO),
        Push::new("c"),
        Push::new("d").with_due(Timestamp::from_millis(0)),
        Push::new("e"),
    ];
    queue.try_put(&batch).await.expect("is accepted");
    assert_eq!(depth(&*queue).await, [5, 0, 0, 0], "ready at once");
    let drained = stage.ordered(drain(&*queue).await);
    assert_eq!(drained, [1, 2, 3, 4, 5], "each in its place in the batch");
}

pub(crate) async fn d1_attempts_and_retries_go_on_as_usual(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    queue.put(later(100)).await;
    stage.advance(100).await;
    for (attempt, expected) in [(1, Settled::Done), (2, Settled::Dead)] {
        let delivery = take_one(&*queue).await;
        assert_eq!((delivery.attempt, &delivery.failure), (attempt, &None));
        let retry = Settlement::retry(delivery.receipt, ms(5));
        assert_eq!(settle(&*queue, retry).await, expected);
        stage.advance(5).await;
    }
    let letter = dead(&*queue).await.remove(0);
    assert_eq!(
        letter.died_at.since(letter.pushed_at),
        ms(105),
        "it was pushed before it was due"
    );
    queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    let places = depth(&*queue).await;
    assert_eq!(places, [1, 0, 0, 0], "its due time is long over");
}

pub(crate) async fn l9_a_delayed_push_has_its_mark_at_once(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let marked = |due| {
        let push = Push::new("x").with_dedup("key", ms(100));
        push.with_due(ms(due))
    };
    assert_eq!(queue.pushed(marked(500)).await, accepted(1));
    assert_eq!(queue.pushed(marked(0)).await, duplicate(1));
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(500)), "a duplicate changes no due time");
    stage.advance(99).await;
    assert_eq!(queue.pushed(marked(0)).await, duplicate(1));
    stage.advance(1).await;
    assert_eq!(
        queue.pushed(marked(0)).await,
        accepted(2),
        "the window counts from the push"
    );
    assert_eq!(depth(&*queue).await, [1, 1, 0, 0]);
}

pub(crate) async fn operators_purge_takes_delayed_pushes_last(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [later(90), later(30), Push::new("x")];
    queue.try_put(&batch).await.expect("is accepted");
    assert_eq!(queue.purge(count(1)).await.expect("purges"), 1);
    assert_eq!(depth(&*queue).await, [0, 2, 0, 0]);
    assert_eq!(queue.purge(count(1)).await.expect("purges"), 1);
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(90)), "the later one is left");
    assert_eq!(queue.purge(count(1_000)).await.expect("purges"), 1);
}

pub(crate) async fn limits_a_due_time_has_an_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let over = limits::MAX_DELAY + ms(1);
    let batch = [Push::new("good"), Push::new("x").with_due(over)];
    refused(queue.try_put(&batch).await, "2^47");
    let at = |time| Push::new("x").with_due(Timestamp::from_millis(time));
    refused(
        queue.try_put(&[at(limits::MAX_TIME)]).await,
        "253402300800000",
    );
    refused(queue.try_put(&[at(MICROS)]).await, "microseconds");
    assert_eq!(depth(&*queue).await, [0; 4]);
    queue.put(Push::new("x").with_due(limits::MAX_DELAY)).await;
    queue.put(at(limits::MAX_TIME - 1)).await;
    assert_eq!(depth(&*queue).await, [0, 2, 0, 0]);
}

pub(crate) async fn d3_equal_bodies_are_different_messages(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let pushed = queue
        .try_put(&[Push::new("same"), Push::new("same")])
        .await
        .expect("is accepted");
    assert_eq!(pushed, [accepted(1), accepted(2)]);
    let cancelled = queue.cancel_one(id(1)).await.expect("cancels");
    assert_eq!(cancelled, Cancelled::Cancelled);
    assert_eq!(drain(&*queue).await, [2], "the other is still there");
}
