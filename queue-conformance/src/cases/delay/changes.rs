use queue_core::{
    Cancelled::{Cancelled as Gone, TooLate},
    *,
};

use super::schedule;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn d4_cancel_takes_out_what_is_not_leased(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for delay in [100, 0, 100, 0, 0] {
        schedule(&queue, delay).await;
    }
    let leased = take_one(&*queue).await;
    assert_eq!(leased.id(), id(2));
    let asked = [id(1), id(4), id(1), id(2), id(99)];
    let cancelled = queue.cancel(&asked).await.expect("cancels");
    assert_eq!(cancelled, [Gone, Gone, TooLate, TooLate, TooLate]);
    ack(&*queue, &leased).await;
    stage.advance(100).await;
    assert_eq!(drain(&*queue).await, [5, 3]);
    assert_eq!(
        queue.cancel(&[id(2), id(5)]).await.expect("cancels"),
        [TooLate; 2],
        "done"
    );
}

pub(crate) async fn d4_cancel_takes_out_what_has_come_back(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for _ in 0..4 {
        schedule(&queue, 0).await;
    }
    let deliveries = take_for(&*queue, 4, ms(100)).await;
    let receipt = |index: usize| deliveries[index].receipt;
    settle(&*queue, Settlement::retry(receipt(0), LONG)).await;
    settle(&*queue, Settlement::release(receipt(1))).await;
    settle(&*queue, Settlement::bury(receipt(2), "dead")).await;
    let asked = [id(1), id(2), id(3), id(4)];
    let cancelled = queue.cancel(&asked).await.expect("cancels");
    assert_eq!(cancelled, [Gone, Gone, TooLate, TooLate]);
    stage.advance(100).await;
    let expired = queue.cancel_one(id(4)).await.expect("cancels");
    assert_eq!(expired, Gone, "from its deadline on it is not leased");
    let settled = settle(&*queue, Settlement::ack(receipt(3))).await;
    assert_eq!(settled, Settled::LeaseLost);
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1]);
}

pub(crate) async fn d4_a_dedup_mark_outlives_a_cancelled_message(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let push = || Push::new("x").with_dedup("key", LONG);
    queue
        .schedule_one(push(), ms(10))
        .await
        .expect("is accepted");
    queue.cancel_one(id(1)).await.expect("cancels");
    let again = queue
        .schedule_one(push(), ms(10))
        .await
        .expect("is accepted");
    assert_eq!(again, Pushed::Duplicate(id(1)));
}

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
    assert_eq!(
        moved(3, 60).await,
        Rescheduled::Moved,
        "what is ready already"
    );
    assert_eq!(depth(&*queue).await, [1, 3, 0, 0]);
    let leased = take_one(&*queue).await;
    assert_eq!(leased.id(), id(4));
    assert_eq!(moved(4, 0).await, Rescheduled::TooLate, "leased");
    assert_eq!(moved(99, 0).await, Rescheduled::TooLate, "never there");
    ack(&*queue, &leased).await;
    assert_eq!(moved(4, 0).await, Rescheduled::TooLate, "done");
    stage.advance(19).await;
    assert_eq!(take_nothing(&*queue).await, Some(ms(1)));
    stage.advance(1).await;
    assert_eq!(drain(&*queue).await, [1]);
    stage.advance(60).await;
    assert_eq!(drain(&*queue).await, [3, 2]);
}

pub(crate) async fn d4_reschedule_keeps_the_attempts(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    schedule(&queue, 0).await;
    let first = take_one(&*queue).await;
    settle(&*queue, Settlement::retry(first.receipt, ms(500))).await;
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
    queue.reschedule(id(4), twenty).await.expect("reschedules");
    queue.reschedule(id(1), twenty).await.expect("reschedules");
    stage.advance(20).await;
    assert_eq!(drain(&*queue).await, [1, 2, 3, 4]);
}

pub(crate) async fn d4_a_message_is_cancelled_or_delivered_never_both(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let batch = vec![Scheduled::new("x", ms(0)); 120];
    queue.schedule(&batch).await.expect("is accepted");
    let canceller = queue.clone();
    let cancel = tokio::spawn(async move {
        let mut gone = Vec::new();
        for number in (1..=120).rev() {
            if canceller.cancel_one(id(number)).await.expect("cancels") == Gone {
                gone.push(number);
            }
            tokio::task::yield_now().await;
        }
        gone
    });
    let consumer = queue.clone();
    let consume = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(delivery) = take(&*consumer, 1).await.pop() {
            seen.push(delivery.id().get());
            tokio::task::yield_now().await;
            ack(&*consumer, &delivery).await;
        }
        seen
    });
    let mut all = cancel.await.expect("runs");
    all.extend(consume.await.expect("runs"));
    all.sort_unstable();
    assert_eq!(all, (1..=120).collect::<Vec<u64>>(), "each has one fate");
}

pub(crate) async fn d4_a_change_dropped_at_any_await_never_half_happens(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for polls in 0..1_000 {
        let first = schedule(&queue, 100).await;
        let second = schedule(&queue, 100).await;
        let cancelled = cut(queue.cancel(&[first]), polls).await.is_some();
        let sooner = Due::After(ms(10));
        let moved = cut(queue.reschedule(second, sooner), polls).await.is_some();
        let held = queue.depth().await.expect("depth").delayed;
        assert!(held == 1 || held == 2, "cut after {polls} polls");
        stage.advance(100).await;
        assert_eq!(
            drain(&*queue).await.len() as u64,
            held,
            "cut after {polls} polls"
        );
        if cancelled && moved {
            return;
        }
    }
    panic!("never done");
}
