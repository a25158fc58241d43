//! L17: nobody receives a message any more once its time to live is over.

use std::time::Duration;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn l17_a_message_that_nobody_took_is_dropped_at_its_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(dropped_after(1_000)).await;
    queue.put("x").await;
    stage.advance(999).await;
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0], "1 ms before");
    stage.advance(1).await;
    assert_eq!(drain(&*queue).await, [2]);
    assert_eq!(ended(&*queue).await, (1, 0));
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l17_a_message_is_delivered_until_its_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let limit = TimeToLive::drop_after(Duration::from_micros(10_001));
    queue.put(Push::new("x").with_time_to_live(limit)).await;
    stage.advance(10).await;
    let held = take_one(&*queue).await;
    settle_live(&*queue, Settlement::release(held.receipt)).await;
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0], "rounded up");
    stage.advance(1).await;
    assert_eq!(take_nothing(&*queue).await, None);
    assert_eq!(ended(&*queue).await, (1, 0));
}

pub(crate) async fn l17_a_message_that_is_buried_at_its_end_tells_all(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let headers = Headers::new().with("tenant", "acme");
    let push = buried_after(1_000).with_headers(headers.clone());
    queue.put(push).await;
    let held = take_one(&*queue).await;
    stage.advance(400).await;
    let retry = Settlement::retry_because(held.receipt, ms(100), "no paper");
    settle_live(&*queue, retry).await;
    stage.advance(599).await;
    assert_eq!(dead(&*queue).await, [], "1 ms before");
    stage.advance(501).await;
    assert_eq!(depth(&*queue).await, [0, 0, 0, 1]);
    stage.advance(10).await;
    let letter = one_dead(&*queue).await;
    assert_eq!((letter.id, letter.attempts), (id(1), 1));
    assert_eq!((&letter.body[..], &letter.headers), (&b"x"[..], &headers));
    assert_eq!(letter.reason, DeathReason::Outdated);
    assert_eq!(letter.failure.as_deref(), Some("no paper"));
    // A token begins with the time of its lease.
    let pushed_at = held.receipt.token.get() / Token::PER_MILLI;
    assert_eq!(letter.pushed_at.as_millis(), pushed_at);
    assert_eq!(
        letter.died_at.since(letter.pushed_at),
        ms(1_500),
        "at the call that ended it"
    );
    assert_eq!(ended(&*queue).await, (0, 1));
}

pub(crate) async fn l17_what_waits_for_its_due_time_or_its_retry_ends_too(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put_due(dropped_after(1_000), NEVER).await;
    queue.put_due(buried_after(1_000), NEVER).await;
    queue.put(buried_after(1_000)).await;
    queue.put_due(dropped_after(1_000), ms(500)).await;
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(3));
    settle_live(&*queue, Settlement::retry(held.receipt, FAR)).await;
    stage.advance(999).await;
    assert_eq!(depth(&*queue).await, [1, 3, 0, 0]);
    stage.advance(1).await;
    assert_eq!(depth(&*queue).await, [0, 0, 0, 2]);
    assert_eq!(buried_at_their_ends(&*queue).await, [2, 3]);
    assert_eq!(ended(&*queue).await, (2, 2));
}

pub(crate) async fn l17_a_live_lease_goes_on(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = vec![dropped_after(100); 3];
    queue.try_put(&batch).await.expect("is accepted");
    let held = take(&*queue, 3).await;
    let receipt = |index: usize| held[index].receipt;
    stage.advance(1_000).await;
    assert_eq!(depth(&*queue).await, [0, 0, 3, 0]);
    extend(&*queue, receipt(0), LONG).await;
    ack(&*queue, &held[0]).await;
    ack(&*queue, &held[1]).await;
    let bury = Settlement::bury(receipt(2), "no such order");
    assert_eq!(settle(&*queue, bury).await, Settled::Dead);
    let reason = dead(&*queue).await.remove(0).reason;
    assert_eq!(reason, DeathReason::Buried("no such order".into()));
    assert_eq!(ended(&*queue).await, (0, 1));
}

pub(crate) async fn l17_what_comes_back_after_its_end_is_not_delivered(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let ways: [fn(Receipt) -> Settlement; 4] = [
        Settlement::release,
        |receipt| Settlement::retry(receipt, ms(0)),
        |receipt| Settlement::retry(receipt, FAR),
        |receipt| Settlement::defer(receipt, ms(0)),
    ];
    for way in ways {
        queue.put(dropped_after(100)).await;
        let held = take_one(&*queue).await;
        stage.advance(100).await;
        let settled = settle(&*queue, way(held.receipt)).await;
        assert_eq!(settled, Settled::Done, "its lease was live");
        assert_eq!(take_nothing(&*queue).await, None);
    }
    let counters = counted(&*queue).await;
    let back = (counters.released, counters.retried, counters.deferred);
    assert_eq!(back, (1, 2, 1));
    assert_eq!(ended(&*queue).await, (4, 0));
}

pub(crate) async fn l17_settle_and_lease_does_not_hand_out_what_it_gives_back(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for (brief, expected) in [(dropped_after(100), (1, 0)), (buried_after(100), (1, 1))] {
        queue.put(brief).await;
        let held = take_one(&*queue).await;
        stage.advance(100).await;
        let back = [Settlement::release(held.receipt)];
        let answer = queue.settle_and_lease(&back, count(1), LONG, None).await;
        let (settled, leased) = answer.expect("settled and leased");
        assert_eq!(settled, [Settled::Done]);
        assert_eq!(leased, Leased::nothing(None));
        assert_eq!(ended(&*queue).await, expected);
    }
}

pub(crate) async fn l17_an_expired_lease_charges_its_attempt_first(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [dropped_after(50), buried_after(100), buried_after(101)];
    queue.try_put(&batch).await.expect("is accepted");
    take_for(&*queue, 3, ms(100)).await;
    stage.advance(100).await;
    assert_eq!(buried_at_their_ends(&*queue).await, [2]);
    assert_eq!(dead(&*queue).await[0].attempts, 1);
    assert_eq!(ended(&*queue).await, (1, 1));
    let third = take_one(&*queue).await;
    assert_eq!((third.id(), third.attempt), (id(3), 2), "1 ms is left");
    ack(&*queue, &third).await;
}

pub(crate) async fn l17_who_dies_on_the_last_attempt_dies_of_that(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    let batch = [dropped_after(50), buried_after(50), buried_after(50)];
    queue.try_put(&batch).await.expect("is accepted");
    take_for(&*queue, 2, ms(100)).await;
    let third = take_one(&*queue).await;
    stage.advance(100).await;
    let retry = Settlement::retry(third.receipt, ms(0));
    assert_eq!(settle(&*queue, retry).await, Settled::Dead);
    let letters = dead(&*queue).await;
    let reasons: Vec<&DeathReason> = letters.iter().map(|letter| &letter.reason).collect();
    use DeathReason::{Expired, Retried};
    assert_eq!(reasons, [&Expired, &Expired, &Retried]);
    assert_eq!(ended(&*queue).await, (0, 3));
}

pub(crate) async fn l17_each_message_of_a_batch_has_its_own_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [
        dropped_after(300),
        dropped_after(100),
        Push::new("x"),
        buried_after(200),
    ];
    queue.try_put(&batch).await.expect("is accepted");
    let left = [
        (99, [4, 0, 0, 0]),
        (1, [3, 0, 0, 0]),
        (100, [2, 0, 0, 1]),
        (100, [1, 0, 0, 1]),
    ];
    for (wait, left) in left {
        stage.advance(wait).await;
        assert_eq!(depth(&*queue).await, left);
    }
    assert_eq!(drain(&*queue).await, [3]);
}

pub(crate) async fn l17_neither_a_return_nor_a_repeat_moves_the_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let marked = |millis: u64| dropped_after(millis).with_dedup("key", LONG);
    queue.put(marked(1_000)).await;
    let ways: [fn(Receipt) -> Settlement; 3] = [
        Settlement::release,
        |receipt| Settlement::retry(receipt, ms(10)),
        |receipt| Settlement::defer(receipt, ms(10)),
    ];
    for way in ways {
        let held = take_one(&*queue).await;
        stage.advance(200).await;
        settle_live(&*queue, way(held.receipt)).await;
        stage.advance(10).await;
    }
    let again = queue.pushed(marked(5_000)).await;
    assert_eq!(again, duplicate(1));
    stage.advance(369).await;
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0], "1 ms before");
    stage.advance(1).await;
    assert_eq!(depth(&*queue).await, [0; 4]);
}

pub(crate) async fn l17_an_end_frees_a_unique_key_and_no_other(stage: &Stage<'_>) {
    use Pushed::{Accepted, Duplicate};
    let queue = stage.leasing().await;
    let batch = [
        dropped_after(100).with_unique("dropped", LONG),
        buried_after(100).with_unique("buried", LONG),
        dropped_after(100).with_dedup("plain", LONG),
    ];
    queue.try_put(&batch).await.expect("is accepted");
    stage.advance(99).await;
    let again = queue.try_put(&batch).await.expect("is accepted");
    assert_eq!(again, [1, 2, 3].map(|first| Duplicate(id(first))));
    stage.advance(1).await;
    let again = queue.try_put(&batch).await.expect("is accepted");
    assert_eq!(
        again,
        [Accepted(id(4)), Accepted(id(5)), Duplicate(id(3))],
        "a push ends what is outdated before it looks"
    );
    assert_eq!(counted(&*queue).await.dedup_marks, 3);
}

/// Until a handle has pushed a time to live, it may know nothing of ends: a backend on a server may leave them out of
/// its calls.
pub(crate) async fn l17_handles_that_push_no_time_to_live_end_too(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let unique = || dropped_after(100).with_unique("key", LONG);
    assert_eq!(queue.pushed(unique()).await, accepted(1));
    stage.advance(100).await;
    // Each call is the first one of its handle.
    assert_eq!(take_nothing(&*stage.leasing().await).await, None);
    assert_eq!(queue.pushed(unique()).await, accepted(2));
    stage.advance(100).await;
    assert_eq!(stage.leasing().await.put("x").await, id(3));
    assert_eq!(queue.pushed(unique()).await, accepted(4));
    stage.advance(100).await;
    assert_eq!(depth(&*stage.leasing().await).await, [1, 0, 0, 0]);
    assert_eq!(ended(&*stage.leasing().await).await, (3, 0));
}

pub(crate) async fn l17_a_revived_message_has_no_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [buried_after(100), buried_after(100)];
    queue.try_put(&batch).await.expect("is accepted");
    bury_next(&*queue, "before its end").await;
    stage.advance(100).await;
    assert_eq!(depth(&*queue).await, [0, 0, 0, 2]);
    let revived = queue.revive(&[id(1), id(2)], Revival::WithState).await;
    assert_eq!(revived.expect("revives"), [Revived::Revived; 2]);
    stage.advance(10_000).await;
    let first = take_one(&*queue).await;
    assert_eq!((first.id(), first.attempt), (id(1), 1));
    ack(&*queue, &first).await;
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn l17_it_is_too_late_to_cancel_what_has_ended(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [dropped_after(100), buried_after(100)];
    queue.try_put(&batch).await.expect("is accepted");
    stage.advance(100).await;
    let cancelled = cancel(&*queue, &[1, 2]).await;
    assert_eq!(cancelled, [Cancelled::TooLate; 2]);
    assert_eq!(ended(&*queue).await, (1, 1));
}
