//! L17: every call ends outdated messages, 128 of them, and a lease holds back until none is left.

use queue_core::*;

use crate::{
    stage::{LeasingQueue, Stage, ms},
    steps::*,
};

/// Pushes the given number of messages that are dropped after 100 ms.
async fn push(queue: &LeasingQueue, count: usize) {
    let messages = vec![dropped_after(100); count];
    for chunk in messages.chunks(limits::MAX_BATCH) {
        queue.try_put(chunk).await.expect("is accepted");
    }
}

/// A queue with the given number of outdated messages, which it is to drop.
async fn outdated(stage: &Stage<'_>, count: usize) -> LeasingQueue {
    let queue = stage.leasing().await;
    push(&queue, count).await;
    stage.advance(100).await;
    queue
}

pub(crate) async fn l17_one_call_ends_128_by_end_then_id(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for limit in [200, 200, 100] {
        let batch = vec![buried_after(limit); 100];
        queue.try_put(&batch).await.expect("is accepted");
    }
    stage.advance(200).await;
    let order: Vec<u64> = (201..=300).chain(1..=200).collect();
    for ended_by_now in [128, 256, 300, 300] {
        let buried = buried_at_their_ends(&*queue).await;
        assert_eq!(buried, order[..ended_by_now]);
    }
}

pub(crate) async fn l17_messages_end_by_end_then_id_wherever_they_wait(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(buried_after(30)).await;
    queue.put_due(buried_after(20), NEVER).await;
    queue.put(buried_after(20)).await;
    queue.put_due(buried_after(10), NEVER).await;
    queue.put(buried_after(20)).await;
    stage.advance(30).await;
    assert_eq!(buried_at_their_ends(&*queue).await, [4, 2, 3, 5, 1]);
}

pub(crate) async fn l17_a_lease_hands_out_nothing_while_one_is_left(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put("in front").await;
    push(&queue, 300).await;
    queue.put("behind").await;
    stage.advance(100).await;
    for left in [172, 44] {
        let next = take_nothing(&*queue).await;
        assert_eq!(next, Some(ms(0)), "{left} are left");
    }
    assert_eq!(drain(&*queue).await, [1, 302]);
    assert_eq!(ended(&*queue).await, (300, 0));
}

pub(crate) async fn l17_a_lease_does_not_announce_an_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(dropped_after(100)).await;
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(held.receipt, ms(500))).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(500)));
    stage.advance(99).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(401)));
    stage.advance(1).await;
    assert_eq!(take_nothing(&*queue).await, None, "it has ended");
}

pub(crate) async fn l17_settle_and_lease_ends_128_twice(stage: &Stage<'_>) {
    let queue = outdated(stage, 257).await;
    let made_up = [Settlement::ack(Receipt::new(id(1), Token::new(1)))];
    let answer = queue.settle_and_lease(&made_up, count(1), LONG, None).await;
    let (_, leased) = answer.expect("settled and leased");
    assert_eq!(leased, Leased::nothing(Some(ms(0))), "256 of 257");
    assert_eq!(take_nothing(&*queue).await, None);
    assert_eq!(ended(&*queue).await, (257, 0));
}

pub(crate) async fn l17_every_call_ends_128(stage: &Stage<'_>) {
    let queue = outdated(stage, 10 * 128).await;
    let made_up = Receipt::new(id(1), Token::new(1));
    let settled = settle(&*queue, Settlement::ack(made_up)).await;
    assert_eq!(settled, Settled::LeaseLost);
    let extended = queue.extend(&[made_up.into()], LONG).await;
    assert_eq!(extended.expect("extends"), [Extended::LeaseLost]);
    queue.put("x").await;
    let cancelled = cancel(&*queue, &[4 * 128]).await;
    assert_eq!(cancelled, [Cancelled::TooLate], "it has just ended");
    let revived = queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(revived, [Revived::NotFound]);
    assert_eq!(queue.discard(&[id(1)]).await.expect("discards"), 0);
    assert_eq!(dead(&*queue).await, []);
    let leased = shown(&*queue, Place::Leased).await;
    assert_eq!(leased, Vec::<u64>::new());
    let places = depth(&*queue).await;
    assert_eq!(places, [128 + 1, 0, 0, 0], "nine calls were made");
    assert_eq!(ended(&*queue).await, (10 * 128, 0));
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
}

pub(crate) async fn l17_what_is_left_is_what_it_was(stage: &Stage<'_>) {
    use Cancelled::{Cancelled as Gone, TooLate};
    let queue = outdated(stage, 600).await;
    // Messages 1 to 128 end.
    assert_eq!(queue.purge(count(1)).await.expect("purges"), 1);
    // Messages 130 to 257 end.
    let left: Vec<u64> = (258..=600).collect();
    assert_eq!(shown(&*queue, Place::Ready).await, left);
    // Messages 258 to 385 end.
    assert_eq!(
        cancel(&*queue, &[385, 386, 600]).await,
        [TooLate, Gone, Gone]
    );
    // Messages 387 to 514 end.
    assert_eq!(depth(&*queue).await, [85, 0, 0, 0]);
    let counters = counted(&*queue).await;
    assert_eq!((counters.purged, counters.cancelled), (1, 2));
    assert_eq!(ended(&*queue).await, (600 - 3, 0));
}

pub(crate) async fn l17_a_paused_queue_ends_them_too(stage: &Stage<'_>) {
    let queue = outdated(stage, 257).await;
    queue.pause().await.expect("pauses");
    let next = take_nothing(&*queue).await;
    assert_eq!(next, None, "nothing changes while it is paused");
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
    queue.resume().await.expect("resumes");
    assert_eq!(take_nothing(&*queue).await, None);
    assert_eq!(ended(&*queue).await, (257, 0));
}

pub(crate) async fn l17_who_receives_gets_what_is_behind_them(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    push(&queue, 300).await;
    queue.put("behind").await;
    stage.advance(100).await;
    let waiting = stage.receiver(&queue).await;
    let delivery = stage.prompt("a receive behind 300", waiting).await;
    assert_eq!(delivery.id(), id(301));
}
