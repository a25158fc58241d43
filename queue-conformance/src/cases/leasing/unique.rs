//! L9: a dedup mark may end with its message, so that a key admits one message at a time.

use std::time::Duration;

use queue_core::{Cancelled::Cancelled as Gone, *};

use crate::{
    stage::{LeasingQueue, Stage, ms},
    steps::*,
};

fn unique(key: &'static str, longest: Duration) -> Push {
    Push::new("x").with_unique(key, longest)
}

fn plain(key: &'static str) -> Push {
    Push::new("x").with_dedup(key, LONG)
}

/// Pushes under `key`, which is free: that message is accepted.
async fn admits(queue: &LeasingQueue, key: &'static str, number: u64, why: &str) {
    let pushed = queue.pushed(unique(key, LONG)).await;
    assert_eq!(pushed, accepted(number), "{why}");
}

/// Pushes under `key`, whose mark holds that message.
async fn repeats(queue: &LeasingQueue, key: &'static str, first: u64, why: &str) {
    let pushed = queue.pushed(unique(key, LONG)).await;
    assert_eq!(pushed, duplicate(first), "{why}");
}

async fn marks(queue: &LeasingQueue) -> u64 {
    queue.counters().await.expect("counters").dedup_marks
}

pub(crate) async fn l9_a_unique_key_admits_one_message_until_that_is_done(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    admits(&queue, "a", 1, "the first").await;
    repeats(&queue, "a", 1, "ready").await;
    queue.put_due(unique("later", LONG), FAR).await;
    repeats(&queue, "later", 2, "delayed").await;
    let delivery = take_one(&*queue).await;
    repeats(&queue, "a", 1, "leased").await;
    settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    repeats(&queue, "a", 1, "released").await;
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(delivery.receipt, ms(0))).await;
    repeats(&queue, "a", 1, "retried").await;
    let delivery = take_one(&*queue).await;
    settle_live(&*queue, Settlement::defer(delivery.receipt, FAR)).await;
    repeats(&queue, "a", 1, "deferred").await;
    assert_eq!(depth(&*queue).await, [0, 2, 0, 0]);
    assert_eq!(marks(&queue).await, 2);
    assert_eq!(cancel(&*queue, &[1, 2]).await, [Gone; 2]);
    assert_eq!(marks(&queue).await, 0);
    admits(&queue, "a", 3, "no repeat used an id").await;
    admits(&queue, "later", 4, "each key is free").await;
}

pub(crate) async fn l9_whatever_takes_a_message_away_frees_its_unique_key(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    admits(&queue, "key", 1, "the first").await;
    ack(&*queue, &take_one(&*queue).await).await;
    admits(&queue, "key", 2, "acked").await;
    bury_next(&*queue, "dead").await;
    admits(&queue, "key", 3, "buried").await;
    assert_eq!(cancel(&*queue, &[3]).await, [Gone]);
    admits(&queue, "key", 4, "cancelled").await;
    assert_eq!(queue.purge(count(9)).await.expect("purges"), 1);
    let delayed = queue.put_due(unique("key", LONG), FAR).await;
    assert_eq!(delayed, id(5), "purged");
    assert_eq!(queue.purge(count(9)).await.expect("purges"), 1);
    admits(&queue, "key", 6, "purged while it was delayed").await;
    let acks = [Settlement::ack(take_one(&*queue).await.receipt)];
    let answer = queue.settle_and_lease(&acks, count(1), LONG, None).await;
    let (settled, leased) = answer.expect("settled and leased");
    assert_eq!(settled, [Settled::Done]);
    assert!(leased.is_empty(), "{leased:?}");
    admits(&queue, "key", 7, "acked by settle_and_lease").await;
    assert_eq!(marks(&queue).await, 1);
}

pub(crate) async fn l9_a_retry_on_the_last_attempt_frees_the_unique_key(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    admits(&queue, "key", 1, "the first").await;
    for expected in [Settled::Done, Settled::Dead] {
        repeats(&queue, "key", 1, "it has attempts left").await;
        let delivery = take_one(&*queue).await;
        let retry = Settlement::retry(delivery.receipt, ms(0));
        assert_eq!(settle(&*queue, retry).await, expected);
    }
    assert_eq!(marks(&queue).await, 0);
    admits(&queue, "key", 2, "dead").await;
    assert_eq!(queue.discard(&[id(1)]).await.expect("discards"), 1);
    repeats(&queue, "key", 2, "the dead letter had no mark any more").await;
}

pub(crate) async fn l9_an_expiry_on_the_last_attempt_frees_the_unique_key(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 2).await;
    admits(&queue, "key", 1, "the first").await;
    take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    repeats(&queue, "key", 1, "it has an attempt left").await;
    take_one_for(&*queue, ms(10)).await;
    stage.advance(9).await;
    repeats(&queue, "key", 1, "leased").await;
    stage.advance(1).await;
    admits(&queue, "key", 2, "a push reclaims before it looks").await;
    assert_eq!(depth(&*queue).await, [1, 0, 0, 1]);
    assert_eq!(marks(&queue).await, 1);
}

pub(crate) async fn l9_a_push_without_a_key_that_buries_frees_the_unique_key(stage: &Stage<'_>) {
    let plain = stage.leasing_with(|config| config.max_attempts = 1).await;
    // A handle's first push may read all marks, to clear old ones away. The next push may not.
    plain.put("x").await;
    ack(&*plain, &take_one(&*plain).await).await;
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    admits(&queue, "key", 2, "the first").await;
    take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    assert_eq!(plain.pushed("x").await, accepted(3));
    admits(&queue, "key", 4, "dead").await;
    assert_eq!(depth(&*queue).await, [2, 0, 0, 1]);
}

pub(crate) async fn l9_a_unique_mark_ends_with_its_window_at_the_latest(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let short = || unique("key", ms(1_000));
    assert_eq!(queue.pushed(short()).await, accepted(1));
    stage.advance(999).await;
    repeats(&queue, "key", 1, "a repeat extends nothing").await;
    stage.advance(1).await;
    assert_eq!(
        queue.pushed(short()).await,
        accepted(2),
        "though the first is there still"
    );
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0]);
    stage.advance(999).await;
    repeats(&queue, "key", 2, "a window of its own").await;
    stage.advance(1).await;
    assert_eq!(marks(&queue).await, 0);
    assert_eq!(drain(&*queue).await.len(), 2);
}

pub(crate) async fn l9_the_end_of_an_older_message_leaves_a_new_mark_alone(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let short = || unique("key", ms(1_000));
    let ends: [fn(Receipt) -> Settlement; 2] =
        [Settlement::ack, |receipt| Settlement::bury(receipt, "dead")];
    for (end, older) in ends.into_iter().zip([1, 3]) {
        assert_eq!(queue.pushed(short()).await, accepted(older));
        let held = take_one(&*queue).await;
        stage.advance(1_000).await;
        admits(&queue, "key", older + 1, "the window is over").await;
        settle_live(&*queue, end(held.receipt)).await;
        repeats(&queue, "key", older + 1, "it has the key by now").await;
        assert_eq!(cancel(&*queue, &[older + 1]).await, [Gone]);
    }
    assert_eq!(queue.pushed(short()).await, accepted(5));
    stage.advance(1_000).await;
    assert_eq!(queue.pushed(plain("key")).await, accepted(6));
    assert_eq!(cancel(&*queue, &[5, 6]).await, [Gone; 2]);
    repeats(&queue, "key", 6, "a plain mark outlives both").await;
}

pub(crate) async fn l9_a_mark_of_either_sort_makes_a_duplicate(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    admits(&queue, "unique", 1, "the first").await;
    let again = queue.pushed(plain("unique")).await;
    assert_eq!(again, duplicate(1));
    let first = queue.pushed(plain("plain")).await;
    assert_eq!(first, accepted(2));
    repeats(&queue, "plain", 2, "of the other sort").await;
    let both = take(&*queue, 2).await;
    ack_all(&*queue, &both).await;
    assert_eq!(marks(&queue).await, 1, "a repeat makes no other mark of it");
    repeats(&queue, "plain", 2, "it outlives its message").await;
    let first = queue.pushed(plain("unique")).await;
    assert_eq!(first, accepted(3), "it ended with its message");
    assert_eq!(cancel(&*queue, &[3]).await, [Gone]);
    repeats(&queue, "unique", 3, "a plain one by now").await;
}

pub(crate) async fn l9_a_revived_message_has_no_unique_mark(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    admits(&queue, "key", 1, "the first").await;
    bury_next(&*queue, "dead").await;
    let revived = queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(revived, [Revived::Revived]);
    assert_eq!(marks(&queue).await, 0);
    admits(&queue, "key", 2, "beside the revived one").await;
    assert_eq!(cancel(&*queue, &[1]).await, [Gone]);
    repeats(&queue, "key", 2, "another's end is not its own").await;
    assert_eq!(marks(&queue).await, 1);
}

pub(crate) async fn l9_a_unique_repeat_within_a_batch_is_a_duplicate(stage: &Stage<'_>) {
    use Pushed::{Accepted, Duplicate};
    let queue = stage.leasing().await;
    let batch = [
        unique("a", LONG),
        Push::new("x"),
        unique("a", LONG),
        unique("b", LONG),
    ];
    for first in [1, 4] {
        let pushed = queue.try_put(&batch).await.expect("is accepted");
        let expected = [
            Accepted(id(first)),
            Accepted(id(first + 1)),
            Duplicate(id(first)),
            Accepted(id(first + 2)),
        ];
        assert_eq!(pushed, expected);
        let deliveries = take(&*queue, 3).await;
        let acks = settlements(&deliveries, Settlement::ack);
        let settled = queue.settle(&acks).await.expect("settles");
        assert_eq!(settled, [Settled::Done; 3]);
        assert_eq!(marks(&queue).await, 0);
    }
}

pub(crate) async fn l9_128_unique_marks_end_in_one_call(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let keyed = |number: u32| Push::new("x").with_unique(number.to_be_bytes().to_vec(), LONG);
    let batch: Vec<Push> = (0..128).map(keyed).collect();
    let ends: [fn(Receipt) -> Settlement; 2] =
        [Settlement::ack, |receipt| Settlement::bury(receipt, "dead")];
    for end in ends.map(Some).into_iter().chain([None]) {
        let pushed = queue.try_put(&batch).await.expect("is accepted");
        assert!(
            pushed.iter().all(|one| !one.is_duplicate()),
            "each key is free: {pushed:?}"
        );
        match end {
            Some(end) => {
                let deliveries = take(&*queue, 128).await;
                let all = settlements(&deliveries, end);
                queue.settle(&all).await.expect("settles");
            }
            None => {
                let ids: Vec<MessageId> = pushed.into_iter().map(accepted_as).collect();
                let cancelled = queue.cancel(&ids).await.expect("cancels");
                assert_eq!(cancelled, [Gone; 128]);
            }
        }
        assert_eq!(marks(&queue).await, 0);
    }
    queue.try_put(&batch).await.expect("is accepted");
    assert_eq!(queue.purge(count(128)).await.expect("purges"), 128);
    assert_eq!(marks(&queue).await, 0);
}

/// Until a handle has pushed a key, it may know nothing of marks: a backend on a server may leave them out of its
/// calls.
pub(crate) async fn l9_a_unique_mark_ends_through_handles_that_push_no_key(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    admits(&queue, "key", 1, "the first").await;
    // Each call is the first one of its handle.
    let held = take_one(&*stage.leasing().await).await;
    assert_eq!(held.attempt, 1, "it was leased once");
    extend(&*stage.leasing().await, held.receipt, LONG).await;
    assert_eq!(shown(&*stage.leasing().await, Place::Leased).await, [1]);
    let release = Settlement::release(held.receipt);
    let settled = settle(&*stage.leasing().await, release).await;
    assert_eq!(settled, Settled::Done);
    repeats(&queue, "key", 1, "nothing has taken it away").await;
    assert_eq!(cancel(&*stage.leasing().await, &[1]).await, [Gone]);
    admits(&queue, "key", 2, "cancelled").await;
    let purged = stage.leasing().await.purge(count(9)).await;
    assert_eq!(purged.expect("purges"), 1);
    admits(&queue, "key", 3, "purged").await;
    let bury = Settlement::bury(take_one(&*queue).await.receipt, "dead");
    let settled = settle(&*stage.leasing().await, bury).await;
    assert_eq!(settled, Settled::Dead);
    admits(&queue, "key", 4, "buried").await;
    let acks = [Settlement::ack(take_one(&*queue).await.receipt)];
    let other = stage.leasing().await;
    let answer = other.settle_and_lease(&acks, count(1), LONG, None).await;
    assert_eq!(answer.expect("settled and leased").0, [Settled::Done]);
    admits(&queue, "key", 5, "acked").await;
    ack(&*other, &take_one(&*other).await).await;
    admits(&queue, "key", 6, "acked by one that knows of marks by now").await;
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.dedup_marks), (6, 1));
}
