use std::time::Duration;

use queue_core::*;

use super::{now, schedule};
use crate::{
    cases::lines,
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn d1_a_delay_is_rounded_up(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let delay = Duration::from_micros(10_001);
    queue.schedule_one("x", delay).await.expect("is accepted");
    stage.advance(10).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(1)));
}

pub(crate) async fn d1_a_due_time_in_the_past_means_now(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let now = now(&queue).await;
    let at = |time| Due::At(Timestamp::from_millis(time));
    queue
        .schedule_one("future", at(now + 100))
        .await
        .expect("is accepted");
    stage.advance(50).await;
    queue
        .schedule_one("zero", Duration::ZERO)
        .await
        .expect("is accepted");
    queue
        .schedule_one("past", at(now + 20))
        .await
        .expect("is accepted");
    queue
        .schedule_one("long past", at(0))
        .await
        .expect("is accepted");
    let due = stage.ordered(drain(&*queue).await);
    assert_eq!(due, [3, 4, 5], "all due now, by id");
    assert_eq!(take_nothing(&*queue).await, Some(ms(50)));
    stage.advance(50).await;
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn d1_a_second_due_time_is_refused(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for second in [Due::After(ms(20)), Due::After(ms(0))] {
        let push = Push::new("x").with_due(second);
        let batch = [Scheduled::new("good", ms(0)), Scheduled::new(push, ms(10))];
        refused(queue.schedule(&batch).await, "with_due");
    }
    assert_eq!(depth(&*queue).await, [0; 4]);
    schedule(&queue, 0).await;
    assert_eq!(drain(&*queue).await, [1], "no id was used up");
}

pub(crate) async fn d2_due_messages_come_by_due_time_then_id(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let delays = [30, 10, 20, 10, 30, 0, 20, 10];
    let batch = delays.map(|delay| Scheduled::new("x", ms(delay)));
    queue.schedule(&batch).await.expect("is accepted");
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
    queue.revive(&[id(1)]).await.expect("revives");
    stage.advance(10).await;
    schedule(&queue, 0).await;
    assert_eq!(drain(&*queue).await, [2, 1, 3]);
}

pub(crate) async fn d2_one_call_takes_back_128_before_it_hands_out(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let batch = vec![Scheduled::new("x", ms(0)); 100];
    queue.schedule(&batch).await.expect("is accepted");
    queue.schedule(&batch).await.expect("is accepted");
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

pub(crate) async fn d3_equal_bodies_are_different_messages(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let same = [Scheduled::new("same", ms(0)), Scheduled::new("same", ms(0))];
    let pushed = queue.schedule(&same).await.expect("is accepted");
    assert_eq!(pushed, [Pushed::Accepted(id(1)), Pushed::Accepted(id(2))]);
    let cancelled = queue.cancel_one(id(1)).await.expect("cancels");
    assert_eq!(cancelled, Cancelled::Cancelled);
    assert_eq!(drain(&*queue).await, [2], "the other is still there");
}

pub(crate) async fn d3_schedule_all_splits(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let batch = vec![Scheduled::new("x", ms(0)); 300];
    let scheduled = queue.schedule_all(&batch).await.expect("is accepted").len();
    assert_eq!(scheduled, 300);
    let drained = stage.ordered(drain(&*queue).await);
    assert_eq!(drained, (1..=300).collect::<Vec<u64>>());
}

pub(crate) async fn limits_a_due_time_has_an_end(stage: &Stage<'_>) {
    lines::limits_a_due_time_has_an_end(stage).await;
    let queue = stage.delay().await;
    let over = Due::After(limits::MAX_DELAY + ms(1));
    refused(queue.reschedule(id(1), over).await, "2^47");
    let over = Due::At(Timestamp::from_millis(limits::MAX_TIME));
    refused(queue.reschedule(id(1), over).await, "253402300800000");
    let micros = Due::At(Timestamp::from_millis(MICROS));
    refused(queue.reschedule(id(1), micros).await, "microseconds");
    assert_eq!(depth(&*queue).await, [0, 2, 0, 0]);
}
