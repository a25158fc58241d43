//! G2: the order within a group.

use queue_core::*;

use super::{next, push};
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn g2_one_message_of_a_group_at_a_time(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a", "a"]).await;
    for number in 1..=3 {
        let held = take_one(&*queue).await;
        assert_eq!(held.id(), id(number));
        take_nothing(&*queue).await;
        ack(&*queue, &held).await;
    }
    take_nothing(&*queue).await;
}

pub(crate) async fn g2_a_released_message_goes_first(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a"]).await;
    for _ in 0..3 {
        let held = take_one(&*queue).await;
        assert_eq!(held.id(), id(1));
        settle_live(&*queue, Settlement::release(held.receipt)).await;
    }
    assert_eq!(drain(&*queue).await, [1, 2]);
}

pub(crate) async fn g2_a_group_waits_for_its_retry(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a", "b"]).await;
    let mut held = take(&*queue, 10).await;
    held.sort_by_key(Delivery::id);
    assert_eq!(ids(&held), [1, 3]);
    let [of_a, of_b] = [0, 1].map(|nth| held[nth].receipt);
    settle_live(&*queue, Settlement::retry(of_a, ms(30))).await;
    settle_live(&*queue, Settlement::defer(of_b, ms(40))).await;
    push(&*queue, &["a", "b"]).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(30)));
    stage.advance(29).await;
    take_nothing(&*queue).await;
    stage.advance(1).await;
    let again = take_one(&*queue).await;
    assert_eq!((again.id(), again.attempt), (id(1), 2));
    take_nothing(&*queue).await;
    settle_live(&*queue, Settlement::retry(again.receipt, ms(0))).await;
    let again = take_one(&*queue).await;
    assert_eq!(
        (again.id(), again.attempt),
        (id(1), 3),
        "at once, and first"
    );
    stage.advance(10).await;
    let deferred = take_one(&*queue).await;
    assert_eq!(deferred.id(), id(3));
    ack(&*queue, &again).await;
    ack(&*queue, &deferred).await;
    let mut rest = drain(&*queue).await;
    rest.sort_unstable();
    assert_eq!(rest, [2, 4, 5]);
}

pub(crate) async fn g2_a_message_that_ends_lets_the_next_go(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a", "a", "a"]).await;
    bury_next(&*queue, "dead").await;
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(2));
    settle_live(&*queue, Settlement::retry(held.receipt, ms(1_000_000))).await;
    take_nothing(&*queue).await;
    assert_eq!(cancel(&*queue, &[2]).await, [Cancelled::Cancelled]);
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(3));
    settle_live(&*queue, Settlement::defer(held.receipt, ms(1_000_000))).await;
    assert_eq!(cancel(&*queue, &[4]).await, [Cancelled::Cancelled]);
    assert_eq!(queue.purge(count(5)).await.expect("purges"), 1);
    push(&*queue, &["a"]).await;
    assert_eq!(drain(&*queue).await, [5]);
}

pub(crate) async fn g2_an_outdated_message_lets_the_next_go(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    for push in [dropped_after(30), buried_after(30), Push::new("x")] {
        put(&*queue, push.with_group("a")).await;
    }
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(held.receipt, ms(1_000_000))).await;
    take_nothing(&*queue).await;
    stage.advance(30).await;
    assert_eq!(drain(&*queue).await, [3]);
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1]);
}

pub(crate) async fn g2_in_loose_order_a_retry_holds_up_no_other(stage: &Stage<'_>) {
    let queue = stage.grouped_with(GroupedConfig::loose(1)).await;
    push(&*queue, &["a", "a", "a"]).await;
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(held.receipt, ms(20))).await;
    assert_eq!(next(&*queue, 1).await, [2]);
    stage.advance(20).await;
    assert_eq!(drain(&*queue).await, [3, 1], "at the tail of its group");
}

pub(crate) async fn g2_a_delayed_push_joins_when_it_is_due(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let later = Push::new("x").with_due(ms(20));
    put(&*queue, later.with_group("a")).await;
    push(&*queue, &["a", "a"]).await;
    assert_eq!(next(&*queue, 1).await, [2], "it holds up no other");
    stage.advance(20).await;
    assert_eq!(drain(&*queue).await, [3, 1]);
}

pub(crate) async fn g2_a_batch_keeps_its_inner_order(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let batch = vec![Push::new("x").with_group("a"); 300];
    queue.push_all(&batch).await.expect("is accepted");
    assert_eq!(drain(&*queue).await, (1..=300).collect::<Vec<u64>>());
}

pub(crate) async fn g2_a_rescheduled_retry_keeps_its_place_and_goes_first(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    push(&*queue, &["a", "a"]).await;
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(held.receipt, ms(50))).await;
    let moved = reschedule(&*queue, &[1], ms(90)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    stage.advance(89).await;
    let next = take_nothing(&*queue).await;
    assert_eq!(next, Some(ms(1)), "no other of its group");
    let moved = reschedule(&*queue, &[1], ms(0)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    let again = take_one(&*queue).await;
    assert_eq!((again.id(), again.attempt), (id(1), 2));
    take_nothing(&*queue).await;
    ack(&*queue, &again).await;
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn g2_a_rescheduled_push_joins_when_it_is_due(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    put(&*queue, Push::new("x").with_group("a").with_due(FAR)).await;
    push(&*queue, &["a", "a"]).await;
    let held = take_one(&*queue).await;
    let moved = reschedule(&*queue, &[1], ms(0)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    take_nothing(&*queue).await;
    ack(&*queue, &held).await;
    assert_eq!(drain(&*queue).await, [3, 1], "at the tail of its group");
}

pub(crate) async fn b7_a_replacement_lets_the_next_go(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    let of_a = || keyed("x").with_group("a");
    put(&*queue, of_a()).await;
    push(&*queue, &["a"]).await;
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(held.receipt, FAR)).await;
    take_nothing(&*queue).await;
    assert_eq!(pushed(&*queue, of_a()).await, replacing(3, 1));
    assert_eq!(drain(&*queue).await, [2, 3], "the place was free");
}

pub(crate) async fn b7_a_key_replaces_a_message_of_another_group(stage: &Stage<'_>) {
    let queue = stage.grouped().await;
    put(&*queue, keyed("x").with_group("a")).await;
    let other = keyed("x").with_group("b");
    assert_eq!(pushed(&*queue, other).await, replacing(2, 1));
    let peeked = peek(&*queue, Place::Ready).await;
    assert_eq!(peeked[0].group.as_deref(), Some(&b"b"[..]));
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn g2_a_message_without_a_group_is_in_that_of_its_partition_key(
    stage: &Stage<'_>,
) {
    let queue = stage.grouped().await;
    put(
        &*queue,
        Push::new("x").with_header(Push::PARTITION_KEY, "a"),
    )
    .await;
    put(&*queue, "x").await;
    let groups = peek(&*queue, Place::Ready).await.into_iter();
    let mut groups: Vec<Option<Bytes>> = groups.map(|one| one.group).collect();
    groups.sort_unstable();
    assert_eq!(groups, ["-", "a"].map(|key| Some(key.into())));
}
