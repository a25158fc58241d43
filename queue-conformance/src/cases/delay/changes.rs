use queue_core::*;

use super::schedule;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn d4_a_duplicate_changes_no_due_time(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let push = || Push::new("x").with_dedup("key", LONG);
    queue
        .schedule_one(push(), ms(50))
        .await
        .expect("is accepted");
    let again = queue
        .schedule_one(push(), ms(0))
        .await
        .expect("is accepted");
    assert_eq!(again, Pushed::Duplicate(id(1)));
    assert_eq!(take_nothing(&*queue).await, Some(ms(50)));
}

pub(crate) async fn d4_reschedule_moves_what_is_not_leased(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for delay in [100, 50, 0, 0] {
        schedule(&queue, delay).await;
    }
    let moved = async |number, delay| {
        let due = Due::After(ms(delay));
        queue
            .reschedule(id(number), due)
            .await
            .expect("reschedules")
    };
    assert_eq!(moved(1, 20).await, Rescheduled::Moved, "sooner");
    assert_eq!(moved(2, 80).await, Rescheduled::Moved, "later");
    let rescheduled = moved(3, 60).await;
    assert_eq!(rescheduled, Rescheduled::Moved, "what is ready already");
    assert_eq!(depth(&*queue).await, [1, 3, 0, 0]);
    let leased = take_one(&*queue).await;
    assert_eq!(leased.id(), id(4));
    assert_eq!(moved(4, 0).await, Rescheduled::TooLate, "leased");
    assert_eq!(moved(99, 0).await, Rescheduled::TooLate, "never there");
    ack(&*queue, &leased).await;
    assert_eq!(moved(4, 0).await, Rescheduled::TooLate, "done");
    schedule(&queue, 0).await;
    let cancelled = queue.cancel_one(id(5)).await.expect("cancels");
    assert_eq!(cancelled, Cancelled::Cancelled);
    assert_eq!(moved(5, 0).await, Rescheduled::TooLate, "cancelled");
    stage.advance(19).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(1)));
    stage.advance(1).await;
    assert_eq!(drain(&*queue).await, [1]);
    stage.advance(60).await;
    let mut due = drain(&*queue).await;
    if stage.keeps("D2") {
        assert_eq!(due, [3, 2]);
    }
    due.sort_unstable();
    assert_eq!(due, [2, 3]);
}

pub(crate) async fn d4_reschedule_keeps_the_attempts(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    schedule(&queue, 0).await;
    let first = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(first.receipt, ms(500))).await;
    let past = Due::At(Timestamp::from_millis(0));
    let moved = queue.reschedule(id(1), past).await.expect("reschedules");
    assert_eq!(moved, Rescheduled::Moved);
    assert_eq!(
        take_one(&*queue).await.attempt,
        2,
        "due now, and no attempt forgotten"
    );
}

pub(crate) async fn d4_rescheduled_messages_keep_to_due_time_then_id(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for delay in [10, 20, 20, 30] {
        schedule(&queue, delay).await;
    }
    let twenty = Due::After(ms(20));
    for number in [4, 1] {
        let rescheduled = queue.reschedule(id(number), twenty).await;
        assert_eq!(rescheduled.expect("reschedules"), Rescheduled::Moved);
    }
    stage.advance(20).await;
    assert_eq!(drain(&*queue).await, [1, 2, 3, 4]);
}

pub(crate) async fn d4_a_change_dropped_at_any_await_never_half_happens(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for polls in 0..1_000 {
        let message = schedule(&queue, 100).await;
        let sooner = Due::After(ms(10));
        let moved = cut(queue.reschedule(message, sooner), polls)
            .await
            .is_some();
        let places = depth(&*queue).await;
        assert_eq!(places, [0, 1, 0, 0], "cut after {polls} polls");
        stage.advance(100).await;
        assert_eq!(drain(&*queue).await, [message.get()]);
        if moved {
            return;
        }
    }
    panic!("never done");
}

pub(crate) async fn l17_a_reschedule_does_not_move_the_end(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for _ in 0..3 {
        let pushed = queue.schedule_one(dropped_after(100), ms(10)).await;
        pushed.expect("is accepted");
    }
    let moved = async |number, delay| {
        let due = Due::After(ms(delay));
        queue
            .reschedule(id(number), due)
            .await
            .expect("reschedules")
    };
    assert_eq!(moved(1, 500).await, Rescheduled::Moved, "beyond its end");
    assert_eq!(moved(2, 0).await, Rescheduled::Moved);
    stage.advance(99).await;
    assert_eq!(depth(&*queue).await, [2, 1, 0, 0], "1 ms before");
    stage.advance(1).await;
    assert_eq!(depth(&*queue).await, [0; 4]);
    assert_eq!(moved(1, 0).await, Rescheduled::TooLate);
    assert_eq!(ended(&*queue).await, (3, 0));
}

pub(crate) async fn l17_next_due_tells_of_no_end(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let next_due = async || queue.next_due().await.expect("answers");
    let pushed = queue.schedule_one(dropped_after(100), ms(10)).await;
    let later = Due::After(ms(200));
    let moved = queue.reschedule(pushed.expect("is accepted").id(), later);
    assert_eq!(moved.await.expect("reschedules"), Rescheduled::Moved);
    schedule(&queue, 400).await;
    assert_eq!(next_due().await, Some(ms(200)));
    stage.advance(99).await;
    assert_eq!(next_due().await, Some(ms(101)));
    stage.advance(1).await;
    assert_eq!(next_due().await, Some(ms(300)), "the first has ended");
}
