//! D4: another due time for messages that are delayed.

use queue_core::{
    Rescheduled::{Moved, TooLate},
    *,
};

use super::later;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// A due time that is over.
const PAST: Timestamp = Timestamp::from_millis(0);

pub(crate) async fn d4_a_delayed_message_is_moved_sooner_or_later(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for delay in [100, 50] {
        queue.put(later(delay)).await;
    }
    assert_eq!(reschedule(&*queue, &[1], ms(20)).await, [Moved], "sooner");
    assert_eq!(reschedule(&*queue, &[2], ms(80)).await, [Moved], "later");
    assert_eq!(depth(&*queue).await, [0, 2, 0, 0]);
    for (number, wait) in [(1, 20), (2, 60)] {
        stage.advance(wait - 1).await;
        assert_eq!(take_nothing(&*queue).await, Some(ms(1)));
        stage.advance(1).await;
        assert_eq!(drain(&*queue).await, [number]);
    }
}

pub(crate) async fn d4_a_due_time_that_is_over_means_now(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for due in [Due::After(ms(0)), Due::At(PAST)] {
        let pushed = queue.put_due("x", FAR).await.get();
        assert_eq!(reschedule(&*queue, &[pushed], due).await, [Moved]);
        let places = depth(&*queue).await;
        assert_eq!(places, [1, 0, 0, 0], "the next call promotes it");
        assert_eq!(drain(&*queue).await, [pushed]);
    }
}

pub(crate) async fn d4_a_message_that_waits_for_its_retry_is_moved(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_numbered(2).await;
    let held = take(&*queue, 2).await;
    let mut receipts: Vec<Receipt> = held.iter().map(|one| one.receipt).collect();
    receipts.sort_by_key(|receipt| receipt.id);
    let retry = Settlement::retry_because(receipts[0], FAR, "no paper");
    let batch = [retry, Settlement::defer(receipts[1], FAR)];
    queue.settle(&batch).await.expect("settles");
    let moved = reschedule(&*queue, &[1, 2], PAST).await;
    assert_eq!(moved, [Moved; 2], "retried, and deferred");
    let mut again = take(&*queue, 2).await;
    again.sort_by_key(Delivery::id);
    let shown = |one: &Delivery| (one.attempt, one.failure.clone());
    assert_eq!(shown(&again[0]), (2, Some("no paper".to_owned())));
    assert_eq!(shown(&again[1]), (1, None), "each keeps its attempts");
}

pub(crate) async fn d4_it_is_too_late_for_what_is_leased_dead_or_gone(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put("x").await;
    let held = take_one(&*queue).await;
    assert_eq!(reschedule(&*queue, &[1], FAR).await, [TooLate], "leased");
    ack(&*queue, &held).await;
    assert_eq!(reschedule(&*queue, &[1], FAR).await, [TooLate], "acked");
    queue.put("x").await;
    bury_next(&*queue, "dead").await;
    assert_eq!(reschedule(&*queue, &[2], FAR).await, [TooLate], "dead");
    queue.put_due("x", FAR).await;
    assert_eq!(cancel(&*queue, &[3]).await, [Cancelled::Cancelled]);
    assert_eq!(reschedule(&*queue, &[3], ms(0)).await, [TooLate], "gone");
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1], "nothing has changed");
}

pub(crate) async fn d4_it_is_too_late_for_an_id_that_no_message_had(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_due("x", FAR).await;
    let made_up = [0, 2, 1 << 53, u64::MAX];
    let moved = reschedule(&*queue, &made_up, ms(0)).await;
    assert_eq!(moved, [TooLate; 4]);
    assert_eq!(depth(&*queue).await, [0, 1, 0, 0]);
}

pub(crate) async fn d4_each_id_of_a_batch_has_its_answer(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put("x").await;
    let held = take_one(&*queue).await;
    for _ in 0..2 {
        queue.put_due("x", FAR).await;
    }
    let moved = reschedule(&*queue, &[3, 1, 2, 3], ms(0)).await;
    assert_eq!(moved, [Moved, TooLate, Moved, Moved], "one after another");
    assert_eq!(stage.ordered(drain(&*queue).await), [2, 3]);
    ack(&*queue, &held).await;
}

pub(crate) async fn d4_128_ids_are_moved_in_one_call(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = vec![Push::new("x").with_due(FAR); 128];
    queue.try_put(&batch).await.expect("is accepted");
    let all: Vec<u64> = (1..=128).collect();
    assert_eq!(reschedule(&*queue, &all, ms(0)).await, [Moved; 128]);
    assert_eq!(depth(&*queue).await, [128, 0, 0, 0]);
    assert_eq!(stage.ordered(ids(&take(&*queue, 128).await)), all);
}

pub(crate) async fn d4_moved_messages_come_by_due_time_then_id(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for delay in [10, 20, 20, 30, 90] {
        queue.put(later(delay)).await;
    }
    let twenty = ms(20);
    assert_eq!(reschedule(&*queue, &[4, 1], twenty).await, [Moved; 2]);
    assert_eq!(reschedule(&*queue, &[5], ms(15)).await, [Moved]);
    stage.advance(20).await;
    assert_eq!(drain(&*queue).await, [5, 1, 2, 3, 4]);
}

pub(crate) async fn d4_a_moved_message_keeps_its_keys(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let marked = |key| keyed("x").with_dedup(key, LONG).with_due(FAR);
    queue.put(marked("a")).await;
    assert_eq!(reschedule(&*queue, &[1], ms(0)).await, [Moved]);
    assert_eq!(queue.pushed(marked("a")).await, duplicate(1));
    assert_eq!(queue.pushed(marked("b")).await, replacing(2, 1));
    assert_eq!(reschedule(&*queue, &[2], LONG).await, [Moved]);
    assert_eq!(queue.pushed(keyed("x")).await, replacing(3, 2));
    assert_eq!(drain(&*queue).await, [3]);
}

pub(crate) async fn d4_a_replaced_message_is_not_moved(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let later = || keyed("x").with_due(FAR);
    queue.put(later()).await;
    assert_eq!(queue.pushed(later()).await, replacing(2, 1));
    let moved = reschedule(&*queue, &[1, 2], ms(0)).await;
    assert_eq!(moved, [TooLate, Moved]);
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn d4_a_change_dropped_at_any_await_never_half_happens(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for polls in 0..1_000 {
        let message = queue.put(later(100)).await;
        let ids = [message];
        let moved = cut(queue.reschedule(&ids, ms(10).into()), polls).await;
        let places = depth(&*queue).await;
        assert_eq!(places, [0, 1, 0, 0], "cut after {polls} polls");
        stage.advance(100).await;
        assert_eq!(drain(&*queue).await, [message.get()]);
        if moved.is_some() {
            return;
        }
    }
    panic!("never done");
}

pub(crate) async fn d4_who_waits_gets_what_is_due_now(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(1_000_000)).await;
    let waiting = stage.receiver(&queue).await;
    assert_eq!(reschedule(&*queue, &[1], ms(0)).await, [Moved]);
    let got = stage.prompt("a receive of the rescheduled", waiting).await;
    assert_eq!(got.id(), id(1));
}

pub(crate) async fn l17_a_reschedule_does_not_move_the_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for _ in 0..3 {
        queue.put_due(dropped_after(100), ms(10)).await;
    }
    let moved = reschedule(&*queue, &[1], ms(500)).await;
    assert_eq!(moved, [Moved], "beyond its end");
    assert_eq!(reschedule(&*queue, &[2], ms(0)).await, [Moved]);
    stage.advance(99).await;
    assert_eq!(depth(&*queue).await, [2, 1, 0, 0], "1 ms before");
    stage.advance(1).await;
    assert_eq!(depth(&*queue).await, [0; 4]);
    assert_eq!(reschedule(&*queue, &[1], ms(0)).await, [TooLate]);
    assert_eq!(ended(&*queue).await, (3, 0));
}

pub(crate) async fn limits_a_reschedule_has_limits(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let pushed = queue.put_due("x", FAR).await;
    let ask = |count, due| {
        let ids = vec![pushed; count];
        let queue = queue.clone();
        async move { queue.reschedule(&ids, due).await }
    };
    refused(ask(0, Due::After(ms(0))).await, "empty batch");
    refused(ask(129, Due::After(ms(0))).await, "129");
    let over = Due::After(limits::MAX_DELAY + ms(1));
    refused(ask(1, over).await, "2^47");
    let at = |time| Due::At(Timestamp::from_millis(time));
    refused(ask(1, at(limits::MAX_TIME)).await, "253402300800000");
    refused(ask(1, at(MICROS)).await, "microseconds");
    assert_eq!(depth(&*queue).await, [0, 1, 0, 0]);
    let last = ask(1, at(limits::MAX_TIME - 1)).await;
    assert_eq!(last.expect("reschedules"), [Moved]);
}
