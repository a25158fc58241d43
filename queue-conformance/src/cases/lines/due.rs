//! D1: a message that is pushed with a due time is delayed until then.

use queue_core::*;

use crate::{
    cases::leasing::later,
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn d1_what_is_due_joins_behind_what_is_ready(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(3).await;
    let batch = [later(30), later(20), later(20)];
    queue.try_put(&batch).await.expect("is accepted");
    let retried = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(retried.receipt, ms(25))).await;
    queue.put_numbered(1).await;
    assert_eq!(depth(&*queue).await, [3, 4, 0, 0]);
    stage.advance(30).await;
    assert_eq!(
        drain(&*queue).await,
        [2, 3, 7, 5, 6, 1, 4],
        "by (due, id), with what was retried"
    );
    queue.put(later(20)).await;
    stage.advance(20).await;
    queue.put("x").await;
    assert_eq!(
        drain(&*queue).await,
        [8, 9],
        "a push promotes what is due before it acts"
    );
}

pub(crate) async fn d1_one_call_promotes_128_before_it_acts(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = vec![later(30); 100];
    for _ in 0..3 {
        queue.try_put(&batch).await.expect("is accepted");
    }
    stage.advance(30).await;
    // The read promotes 128, the push another 128 before it acts, and the next call 44.
    let places = depth(&*queue).await;
    assert_eq!(places, [300, 0, 0, 0], "due beyond the 128 counts as ready");
    queue.put("behind 256").await;
    let mut expected: Vec<u64> = (1..=300).collect();
    expected.insert(256, 301);
    assert_eq!(drain(&*queue).await, expected);
}

pub(crate) async fn l7_a_peek_promotes_128(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for some in [100, 30] {
        let batch = vec![later(30); some];
        queue.try_put(&batch).await.expect("is accepted");
    }
    stage.advance(30).await;
    let delayed = peek(&*queue, Place::Delayed).await;
    let left: Vec<u64> = delayed.iter().map(|one| one.message.id.get()).collect();
    assert_eq!(left, [129, 130], "delayed still, though due");
    let overdue = Standing::delayed(ms(0));
    assert!(delayed.iter().all(|one| one.standing == overdue));
    let all: Vec<u64> = (1..=130).collect();
    assert_eq!(shown(&*queue, Place::Ready).await, all);
    assert_eq!(shown(&*queue, Place::Delayed).await, Vec::<u64>::new());
}

pub(crate) async fn counters_a_delayed_push_is_ready_since_its_due_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let oldest = async || queue.counters().await.expect("counters").oldest_ready;
    queue.put(later(100)).await;
    assert_eq!(oldest().await, None);
    stage.advance(130).await;
    assert_eq!(oldest().await, Some(ms(30)));
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    stage.advance(5).await;
    let age = oldest().await;
    assert_eq!(age, Some(ms(35)), "a release does not start it anew");
}

pub(crate) async fn d4_it_is_too_late_for_a_ready_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put("x").await;
    queue.put(later(10)).await;
    stage.advance(10).await;
    let moved = reschedule(&*queue, &[1, 2], FAR).await;
    assert_eq!(moved, [Rescheduled::TooLate; 2], "nor for one that is due");
    let released = take_one(&*queue).await;
    settle_live(&*queue, Settlement::release(released.receipt)).await;
    let moved = reschedule(&*queue, &[1], FAR).await;
    assert_eq!(moved, [Rescheduled::TooLate], "released");
    assert_eq!(stage.ordered(drain(&*queue).await), [1, 2]);
}

pub(crate) async fn d4_what_is_due_now_goes_behind_what_is_ready(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_due("x", FAR).await;
    queue.put_numbered(1).await;
    let moved = reschedule(&*queue, &[1], ms(0)).await;
    assert_eq!(moved, [Rescheduled::Moved]);
    queue.put_numbered(1).await;
    let drained = drain(&*queue).await;
    assert_eq!(drained, [2, 1, 3], "a push promotes it before it acts");
}
