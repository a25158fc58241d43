use queue_core::*;

use super::*;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn b7_a_key_replaces_its_undelivered_entry(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    put(&queue, keyed("old")).await;
    fill(&queue, 1).await;
    assert_eq!(put(&queue, keyed("new")).await, replacing(3, 1));
    let messages = queue.recent(3).await.expect("reads");
    let mut bodies: Vec<&[u8]> = messages.iter().map(|message| &message.body[..]).collect();
    if !stage.keeps("B6") {
        bodies.sort_unstable();
    }
    assert_eq!(
        bodies,
        [&b"new"[..], b"x"],
        "new id, new body, newest place"
    );
    let counters = queue.counters().await.expect("counters");
    assert_eq!((counters.accepted, counters.replaced), (3, 1));
    assert_eq!(stage.ordered(drain(&*queue).await), [2, 3]);
}

pub(crate) async fn b7_a_full_queue_replaces_too(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    assert_eq!(put(&queue, keyed("x")).await, accepted(1));
    fill(&queue, 1).await;
    assert_eq!(put(&queue, keyed("x")).await, replacing(3, 1));
    let offered = queue.offer_one(keyed("x"), Overflow::DropOldest).await;
    assert_eq!(offered.expect("offers"), replacing(4, 3));
    assert_eq!(drain(&*queue).await, [2, 4], "and evicts nothing");
}

pub(crate) async fn b7_a_key_replaces_within_a_batch(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    let batch = [keyed("a"), Offer::new("x"), keyed("b"), keyed("c")];
    let offered = queue.offer(&batch, Overflow::Reject).await.expect("offers");
    assert_eq!(
        offered,
        [accepted(1), accepted(2), replacing(3, 1), replacing(4, 3)]
    );
    assert_eq!(drain(&*queue).await, [2, 4]);
}

pub(crate) async fn b7_a_leased_entry_is_untouched_and_a_new_one_added(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    put(&queue, keyed("x")).await;
    let leased = take_one(&*queue).await;
    assert_eq!(put(&queue, keyed("x")).await, accepted(2));
    settle_live(&*queue, Settlement::release(leased.receipt)).await;
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0]);
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, replacing(3, 2), "the key passed on");
    let drained = stage.ordered(drain(&*queue).await);
    assert_eq!(drained, [1, 3], "the first is an ordinary message now");
}

pub(crate) async fn b7_the_end_of_a_former_holder_frees_no_key(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    let ends: [fn(Receipt) -> Settlement; 2] =
        [Settlement::ack, |receipt| Settlement::bury(receipt, "dead")];
    for (end, first) in ends.into_iter().zip([1, 4]) {
        assert_eq!(put(&queue, keyed("x")).await, accepted(first));
        let former = take_one(&*queue).await;
        let second = put(&queue, keyed("x")).await;
        assert_eq!(second, accepted(first + 1), "the key passes to it");
        settle_live(&*queue, end(former.receipt)).await;
        let third = put(&queue, keyed("x")).await;
        assert_eq!(third, replacing(first + 2, first + 1), "and stays with it");
        assert_eq!(drain(&*queue).await, [first + 2]);
    }
}

pub(crate) async fn b7_a_returned_entry_is_replaced_again(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    put(&queue, keyed("x")).await;
    let first = take_one(&*queue).await;
    settle_live(&*queue, Settlement::release(first.receipt)).await;
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, replacing(2, 1), "released");
    let second = take_one(&*queue).await;
    settle_live(&*queue, Settlement::retry(second.receipt, ms(50))).await;
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, replacing(3, 2), "delayed");
    take_for(&*queue, 1, ms(10)).await;
    stage.advance(9).await;
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, accepted(4), "leased");
    stage.advance(1).await;
    assert_eq!(put(&queue, keyed("x")).await, replacing(5, 4));
    assert_eq!(stage.ordered(drain(&*queue).await), [3, 5]);
}

pub(crate) async fn b7_an_expired_entry_is_replaced(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    put(&queue, keyed("x")).await;
    let stale = take_one_for(&*queue, ms(10)).await;
    stage.advance(10).await;
    assert_eq!(put(&queue, keyed("x")).await, replacing(2, 1));
    let settled = settle(&*queue, Settlement::ack(stale.receipt)).await;
    assert_eq!(settled, Settled::LeaseLost, "the replaced one is gone");
    assert_eq!(drain(&*queue).await, [2]);
}

pub(crate) async fn b7_a_key_is_free_once_its_message_is_gone(stage: &Stage<'_>) {
    let queue = stage.bounded(3).await;
    put(&queue, keyed("x")).await;
    ack(&*queue, &take_one(&*queue).await).await;
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, accepted(2), "acked");
    bury_next(&*queue, "dead").await;
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, accepted(3), "dead");
    queue.purge(count(1)).await.expect("purges");
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, accepted(4), "purged");
    fill(&queue, 2).await;
    assert_eq!(offer(&queue, Overflow::DropOldest).await, evicting(7, 4));
    ack(&*queue, &take_one(&*queue).await).await;
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, accepted(8), "evicted");
    let dropped = queue.resize(count(1)).await.expect("resizes");
    assert_eq!(numbers(&dropped), [6, 7]);
    let offered = put(&queue, keyed("x")).await;
    assert_eq!(offered, replacing(9, 8), "not this one");
}

pub(crate) async fn b7_a_cancelled_messages_key_is_free(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    let gone = [Cancelled::Cancelled];
    assert_eq!(put(&queue, keyed("x")).await, accepted(1));
    assert_eq!(cancel(&*queue, &[1]).await, gone);
    assert_eq!(put(&queue, keyed("x")).await, accepted(2));
    let former = take_one(&*queue).await;
    let third = put(&queue, keyed("x")).await;
    assert_eq!(third, accepted(3), "the key passes to it");
    settle_live(&*queue, Settlement::release(former.receipt)).await;
    assert_eq!(cancel(&*queue, &[2]).await, gone);
    let fourth = put(&queue, keyed("x")).await;
    assert_eq!(fourth, replacing(4, 3), "and stays with it");
    assert_eq!(drain(&*queue).await, [4]);
}

pub(crate) async fn b7_a_revived_message_has_no_key(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    put(&queue, keyed("x")).await;
    bury_next(&*queue, "dead").await;
    queue.revive(&[id(1)]).await.expect("revives");
    assert_eq!(put(&queue, keyed("x")).await, accepted(2));
    assert_eq!(stage.ordered(drain(&*queue).await), [1, 2]);
}

pub(crate) async fn b7_a_duplicate_comes_before_a_replacement(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    let both = || Offer::new(Push::new("x").with_dedup("once", LONG)).with_distinct("key");
    assert_eq!(put(&queue, both()).await, accepted(1));
    assert_eq!(put(&queue, both()).await, Offered::Duplicate(id(1)));
    assert_eq!(put(&queue, keyed("x")).await, replacing(2, 1));
    let offered = put(&queue, both()).await;
    assert_eq!(
        offered,
        Offered::Duplicate(id(1)),
        "the mark outlives the replaced"
    );
}

pub(crate) async fn b7_keys_differ_and_are_not_dedup_keys(stage: &Stage<'_>) {
    let queue = stage.bounded(99).await;
    let batch = [
        Offer::new("x").with_distinct("a"),
        Offer::new("x").with_distinct("b"),
        Offer::new(Push::new("x").with_dedup("a", LONG)),
        Offer::new("x").with_distinct("a\0"),
    ];
    let offered = queue.offer(&batch, Overflow::Reject).await.expect("offers");
    assert_eq!(
        offered,
        [accepted(1), accepted(2), accepted(3), accepted(4)]
    );
}
