//! B7: a push with a distinct key replaces the undelivered message that holds the key.

use queue_core::{Cancelled::Cancelled as Gone, *};

use super::later;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn b7_a_key_replaces_its_undelivered_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(keyed("old").with_header("version", "1")).await;
    queue.put("x").await;
    let new = keyed("new").with_header("version", "2");
    assert_eq!(queue.pushed(new.clone()).await, replacing(3, 1));
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0]);
    let mut both = take(&*queue, 2).await;
    if !stage.keeps(stage.kind().order()) {
        both.sort_by_key(Delivery::id);
    }
    assert_eq!(ids(&both), [2, 3], "in the place of a new message");
    assert_eq!((&both[1].body, &both[1].headers), (&new.body, &new.headers));
    ack_all(&*queue, &both).await;
}

pub(crate) async fn b7_a_replaced_message_is_gone_and_counted(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(keyed("x")).await;
    assert_eq!(queue.pushed(keyed("x")).await, replacing(2, 1));
    assert_eq!(queue.find_one(id(1)).await.expect("finds"), Found::Gone);
    assert_eq!(cancel(&*queue, &[1]).await, [Cancelled::TooLate]);
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.replaced), (2, 1));
    assert_eq!((counters.cancelled, counters.evicted), (0, 0));
}

pub(crate) async fn b7_a_key_replaces_within_a_batch(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let batch = [keyed("a"), Push::new("x"), keyed("b"), keyed("c")];
    let pushed = queue.try_put(&batch).await.expect("pushes");
    let expected = [accepted(1), accepted(2), replacing(3, 1), replacing(4, 3)];
    assert_eq!(pushed, expected);
    assert_eq!(stage.ordered(drain(&*queue).await), [2, 4]);
}

pub(crate) async fn b7_a_leased_message_is_untouched_and_a_new_one_added(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(keyed("x")).await;
    let leased = take_one(&*queue).await;
    assert_eq!(queue.pushed(keyed("x")).await, accepted(2));
    settle_live(&*queue, Settlement::release(leased.receipt)).await;
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0]);
    let third = queue.pushed(keyed("x")).await;
    assert_eq!(third, replacing(3, 2), "the key passed on");
    let drained = stage.ordered(drain(&*queue).await);
    assert_eq!(drained, [1, 3], "the first is an ordinary message now");
}

pub(crate) async fn b7_the_end_of_a_former_holder_frees_no_key(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let ends: [fn(Receipt) -> Settlement; 3] = [
        Settlement::ack,
        |receipt| Settlement::bury(receipt, "dead"),
        Settlement::release,
    ];
    for (end, first) in ends.into_iter().zip([1, 4, 7]) {
        assert_eq!(queue.pushed(keyed("x")).await, accepted(first));
        let former = take_one(&*queue).await;
        let second = queue.pushed(keyed("x")).await;
        assert_eq!(second, accepted(first + 1), "the key passes to it");
        settle_live(&*queue, end(former.receipt)).await;
        cancel(&*queue, &[first]).await;
        let third = queue.pushed(keyed("x")).await;
        assert_eq!(third, replacing(first + 2, first + 1), "and stays with it");
        assert_eq!(drain(&*queue).await, [first + 2]);
    }
}

pub(crate) async fn b7_a_message_that_came_back_is_replaced(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(keyed("x")).await;
    let ends: [fn(Receipt) -> Settlement; 3] = [
        Settlement::release,
        |receipt| Settlement::retry(receipt, FAR),
        |receipt| Settlement::defer(receipt, FAR),
    ];
    for (end, first) in ends.into_iter().zip(1..) {
        let held = take_one(&*queue).await;
        settle_live(&*queue, end(held.receipt)).await;
        let pushed = queue.pushed(keyed("x")).await;
        assert_eq!(pushed, replacing(first + 1, first));
    }
    assert_eq!(drain(&*queue).await, [4]);
}

pub(crate) async fn b7_a_message_is_replaced_from_its_deadline_on(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(keyed("x")).await;
    take_one_for(&*queue, ms(10)).await;
    stage.advance(9).await;
    assert_eq!(queue.pushed(keyed("x")).await, accepted(2), "leased");
    assert_eq!(take_one(&*queue).await.id(), id(2));
    queue.put(keyed("x")).await;
    let stale = take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    assert_eq!(queue.pushed(keyed("x")).await, replacing(4, 3));
    let settled = settle(&*queue, Settlement::ack(stale.receipt)).await;
    assert_eq!(settled, Settled::LeaseLost, "the replaced one is gone");
}

pub(crate) async fn b7_a_key_is_free_once_its_message_is_gone(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    let next = async |number, why| {
        let pushed = queue.pushed(keyed("x")).await;
        assert_eq!(pushed, accepted(number), "{why}");
    };
    next(1, "the first").await;
    ack(&*queue, &take_one(&*queue).await).await;
    next(2, "acked").await;
    bury_next(&*queue, "dead").await;
    next(3, "buried").await;
    let retry = Settlement::retry(take_one(&*queue).await.receipt, ms(0));
    assert_eq!(settle(&*queue, retry).await, Settled::Dead);
    next(4, "dead on its last attempt").await;
    assert_eq!(cancel(&*queue, &[4]).await, [Gone]);
    next(5, "cancelled").await;
    assert_eq!(queue.purge(count(9)).await.expect("purges"), 1);
    let delayed = queue.pushed(keyed("x").with_due(FAR)).await;
    assert_eq!(delayed, accepted(6), "purged");
    assert_eq!(cancel(&*queue, &[6]).await, [Gone]);
    next(7, "cancelled while it was delayed").await;
}

pub(crate) async fn b7_an_expiry_on_the_last_attempt_frees_the_key(stage: &Stage<'_>) {
    let queue = stage.leasing_with(|config| config.max_attempts = 1).await;
    queue.put(keyed("x")).await;
    take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    let pushed = queue.pushed(keyed("x")).await;
    assert_eq!(pushed, accepted(2), "a push reclaims before it looks");
    assert_eq!(depth(&*queue).await, [1, 0, 0, 1]);
}

pub(crate) async fn b7_a_revived_message_has_no_key(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(keyed("x")).await;
    bury_next(&*queue, "dead").await;
    queue
        .revive(&[id(1)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(queue.pushed(keyed("x")).await, accepted(2));
    assert_eq!(stage.ordered(drain(&*queue).await), [1, 2]);
}

pub(crate) async fn b7_a_key_replaces_a_delayed_message(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let later = || keyed("later").with_due(FAR);
    assert_eq!(queue.pushed(later()).await, accepted(1));
    assert_eq!(queue.pushed(keyed("at once")).await, replacing(2, 1));
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
    assert_eq!(queue.pushed(later()).await, replacing(3, 2));
    let places = depth(&*queue).await;
    assert_eq!(places, [0, 1, 0, 0], "and the other way round");
    assert_eq!(queue.pushed(later()).await, replacing(4, 3));
    assert_eq!(shown(&*queue, Place::Delayed).await, [4]);
}

pub(crate) async fn b7_a_message_keeps_its_key_when_it_is_due(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(keyed(later(10))).await;
    stage.advance(10).await;
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0]);
    assert_eq!(queue.pushed(keyed("at once")).await, replacing(2, 1));
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn b7_a_duplicate_comes_before_a_replacement(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let both = || keyed("x").with_dedup("once", LONG);
    assert_eq!(queue.pushed(both()).await, accepted(1));
    assert_eq!(queue.pushed(both()).await, duplicate(1));
    assert_eq!(queue.pushed(keyed("x")).await, replacing(2, 1));
    let again = queue.pushed(both()).await;
    assert_eq!(again, duplicate(1), "the mark outlives the replaced");
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn b7_keys_differ_and_are_not_dedup_keys(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let key = |bytes: &'static [u8]| Push::new("x").with_distinct(bytes);
    let batch = [
        key(b"a"),
        key(b"b"),
        key(b"a\0"),
        key(b"\xff"),
        Push::new("x").with_dedup("a", LONG),
    ];
    let pushed = queue.try_put(&batch).await.expect("pushes");
    assert_eq!(pushed, [1, 2, 3, 4, 5].map(accepted));
    let other = stage.leasing_named("other", |_| {}).await;
    let first = other.put(key(b"a")).await;
    let second = other.pushed(key(b"a")).await;
    let replaced = matches!(second, Pushed::Replaced { replaced, .. } if replaced == first);
    assert!(replaced, "a key is of its queue: {second:?}");
}

pub(crate) async fn b7_of_concurrent_pushes_of_a_key_one_is_left(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut producers = Vec::new();
    for _ in 0..4 {
        let queue = queue.clone();
        producers.push(tokio::spawn(async move {
            for _ in 0..20 {
                queue.put(keyed("x")).await;
                tokio::task::yield_now().await;
            }
        }));
    }
    for producer in producers {
        producer.await.expect("runs");
    }
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.replaced), (80, 79));
    assert_eq!(drain(&*queue).await, [80]);
}

fn unique(key: &'static str) -> Push {
    Push::new("x").with_unique(key, LONG)
}

pub(crate) async fn l9_a_replacement_frees_the_unique_key(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    assert_eq!(queue.pushed(keyed(unique("a"))).await, accepted(1));
    assert_eq!(queue.pushed(keyed(unique("b"))).await, replacing(2, 1));
    assert_eq!(queue.pushed(unique("a")).await, accepted(3), "replaced");
    assert_eq!(queue.pushed(unique("b")).await, duplicate(2));
    let held = take(&*queue, 9).await;
    let beside = queue.pushed(keyed("x")).await;
    assert_eq!(beside, accepted(4), "what is leased is not replaced");
    let again = queue.pushed(unique("b")).await;
    assert_eq!(again, duplicate(2), "and keeps its mark");
    ack_all(&*queue, &held).await;
    let counters = queue.counters().await.expect("counters");
    assert_eq!(counters.dedup_marks, 0);
}

pub(crate) async fn l9_a_batch_frees_the_unique_keys_of_what_it_replaces(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let a = keyed(unique("a"));
    let batch = [a.clone(), keyed("x"), a];
    let pushed = queue.try_put(&batch).await.expect("pushes");
    assert_eq!(pushed, [accepted(1), replacing(2, 1), replacing(3, 2)]);
    assert_eq!(drain(&*queue).await, [3]);
    let counters = queue.counters().await.expect("counters");
    assert_eq!(counters.dedup_marks, 0);
}

pub(crate) async fn l9_a_batch_that_replaces_an_older_message_leaves_a_new_mark_alone(
    stage: &Stage<'_>,
) {
    let queue = stage.leasing().await;
    let unique = || keyed(Push::new("x").with_unique("unique", ms(1_000)));
    assert_eq!(queue.pushed(unique()).await, accepted(1));
    stage.advance(1_000).await;
    let batch = [unique(), unique()];
    let pushed = queue.try_put(&batch).await.expect("pushes");
    assert_eq!(pushed, [replacing(2, 1), duplicate(2)]);
    assert_eq!(queue.pushed(unique()).await, duplicate(2));
}

pub(crate) async fn l17_a_distinct_key_is_free_at_the_end(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let both = [dropped_after(100), buried_after(100)];
    for (message, number) in both.into_iter().zip(1..) {
        assert_eq!(queue.pushed(keyed(message)).await, accepted(number));
        stage.advance(100).await;
    }
    assert_eq!(queue.pushed(keyed("x")).await, accepted(3));
    assert_eq!(ended(&*queue).await, (1, 1));
}

pub(crate) async fn l17_a_replacement_has_the_end_of_its_own_push(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let message = || keyed(dropped_after(100));
    assert_eq!(queue.pushed(message()).await, accepted(1));
    stage.advance(50).await;
    assert_eq!(queue.pushed(message()).await, replacing(2, 1));
    stage.advance(99).await;
    assert_eq!(depth(&*queue).await, [1, 0, 0, 0], "1 ms before");
    stage.advance(1).await;
    assert_eq!(queue.pushed(message()).await, accepted(3));
    assert_eq!(queue.pushed(keyed("x")).await, replacing(4, 3));
    stage.advance(1_000).await;
    assert_eq!(drain(&*queue).await, [4], "it has no end");
    assert_eq!(ended(&*queue).await, (1, 0));
}
