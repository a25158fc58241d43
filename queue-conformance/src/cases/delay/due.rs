use queue_core::*;

use super::schedule;
use crate::{
    cases::leasing::later,
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn d2_due_messages_come_by_due_time_then_id(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let delays = [30, 10, 20, 10, 30, 0, 20, 10];
    queue.push(&delays.map(later)).await.expect("is accepted");
    stage.advance(20).await;
    assert_eq!(ids(&take(&*queue, 4).await), [6, 2, 4, 8]);
    stage.advance(10).await;
    assert_eq!(drain(&*queue).await, [3, 7, 1, 5]);
}

pub(crate) async fn l16_messages_are_shown_by_due_time_then_id(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for delay in [30, 10, 20, 30, 90, 80] {
        schedule(&queue, delay).await;
    }
    stage.advance(30).await;
    assert_eq!(shown(&*queue, Place::Ready).await, [2, 3, 1, 4]);
    assert_eq!(shown(&*queue, Place::Delayed).await, [6, 5]);
    let first = take_one(&*queue).await;
    stage.advance(1).await;
    settle_live(&*queue, Settlement::release(first.receipt)).await;
    let order = shown(&*queue, Place::Ready).await;
    assert_eq!(order, [3, 1, 4, 2], "due when it was released");
    assert_eq!(drain(&*queue).await, order);
}

pub(crate) async fn d2_what_returns_is_due_when_it_returns(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for _ in 0..4 {
        schedule(&queue, 0).await;
    }
    let expires = take_for(&*queue, 1, ms(100)).await;
    let deliveries = take(&*queue, 3).await;
    let receipt = |index: usize| deliveries[index].receipt;
    for due in [50, 95, 105, 125, 155] {
        schedule(&queue, due).await;
    }
    stage.advance(60).await;
    settle_live(&*queue, Settlement::release(receipt(0))).await;
    settle_live(&*queue, Settlement::retry(receipt(1), ms(60))).await;
    settle_live(&*queue, Settlement::defer(receipt(2), ms(90))).await;
    stage.advance(200).await;
    // Due: 5 at 50, 2 released at 60, 6 at 95, 1 expired at 100, 7 at 105, 3 retried for 120,
    // 8 at 125, 4 deferred to 150, 9 at 155.
    assert_eq!(drain(&*queue).await, [5, 2, 6, 1, 7, 3, 8, 4, 9]);
    drop(expires);
}

pub(crate) async fn d2_a_revived_message_is_due_now(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    schedule(&queue, 0).await;
    bury_next(&*queue, "dead").await;
    schedule(&queue, 40).await;
    stage.advance(50).await;
    queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    stage.advance(10).await;
    schedule(&queue, 0).await;
    assert_eq!(drain(&*queue).await, [2, 1, 3]);
}

pub(crate) async fn d2_one_call_takes_back_128_before_it_hands_out(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for _ in 0..2 {
        let batch = vec![Push::new("x"); 100];
        queue.push(&batch).await.expect("is accepted");
    }
    take_for(&*queue, 100, ms(20)).await;
    take_for(&*queue, 100, ms(10)).await;
    stage.advance(20).await;
    let expected: Vec<u64> = (101..=200).chain(1..=28).collect();
    let taken = ids(&take(&*queue, 128).await);
    assert_eq!(taken, expected, "by deadline, which is when it is due");
    let rest: Vec<u64> = (29..=100).collect();
    assert_eq!(ids(&take(&*queue, 128).await), rest);
}

pub(crate) async fn d2_a_purge_takes_what_is_due_first(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for delay in [90, 10, 0, 50] {
        schedule(&queue, delay).await;
    }
    stage.advance(20).await;
    assert_eq!(queue.purge(count(3)).await.expect("purges"), 3);
    stage.advance(70).await;
    assert_eq!(drain(&*queue).await, [1], "by (due, id)");
}

pub(crate) async fn d2_the_oldest_is_ready_since_its_due_time(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let oldest = async || queue.counters().await.expect("counters").oldest_ready;
    schedule(&queue, 100).await;
    assert_eq!(oldest().await, None);
    stage.advance(130).await;
    assert_eq!(oldest().await, Some(ms(30)));
    let delivery = take_one_for(&*queue, ms(50)).await;
    settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    stage.advance(5).await;
    assert_eq!(oldest().await, Some(ms(5)), "a release sets the due time");
    take_one_for(&*queue, ms(50)).await;
    stage.advance(57).await;
    assert_eq!(oldest().await, Some(ms(7)), "so does an expiry");
}

pub(crate) async fn d5_next_due_is_the_first_undelivered(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let next = async || queue.next_due().await.expect("answers");
    assert_eq!(next().await, None);
    schedule(&queue, 200).await;
    schedule(&queue, 100).await;
    assert_eq!(next().await, Some(ms(100)));
    stage.advance(100).await;
    assert_eq!(next().await, Some(ms(0)));
    stage.advance(10).await;
    assert_eq!(next().await, Some(ms(0)), "due already");
    take_for(&*queue, 1, ms(50)).await;
    assert_eq!(next().await, Some(ms(90)), "a leased one is not waited for");
    stage.advance(50).await;
    assert_eq!(next().await, Some(ms(0)), "until its lease has expired");
    drain(&*queue).await;
    assert_eq!(cancel(&*queue, &[1]).await, [Cancelled::Cancelled]);
    assert_eq!(next().await, None);
}

pub(crate) async fn l17_next_due_tells_of_no_end(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let next_due = async || queue.next_due().await.expect("answers");
    put(&*queue, dropped_after(100).with_due(ms(10))).await;
    let moved = reschedule(&*queue, &[1], ms(200)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    schedule(&queue, 400).await;
    assert_eq!(next_due().await, Some(ms(200)));
    stage.advance(99).await;
    assert_eq!(next_due().await, Some(ms(101)));
    stage.advance(1).await;
    assert_eq!(next_due().await, Some(ms(300)), "the first has ended");
}

pub(crate) async fn d4_a_message_that_is_due_is_moved_too(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    schedule(&queue, 0).await;
    schedule(&queue, 0).await;
    let moved = reschedule(&*queue, &[1], ms(60)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    assert_eq!(depth(&*queue).await, [1, 1, 0, 0]);
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(2));
    settle_live(&*queue, Settlement::release(held.receipt)).await;
    let moved = reschedule(&*queue, &[2], ms(30)).await;
    assert_eq!(moved, [Rescheduled::Moved], "released");
    for number in [2, 1] {
        stage.advance(29).await;
        take_nothing(&*queue).await;
        stage.advance(1).await;
        assert_eq!(drain(&*queue).await, [number]);
    }
}

pub(crate) async fn d1_a_message_without_a_due_time_is_due_now(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for delay in [10, 30] {
        schedule(&queue, delay).await;
    }
    stage.advance(20).await;
    put(&*queue, "x").await;
    stage.advance(10).await;
    assert_eq!(drain(&*queue).await, [1, 3, 2]);
}
