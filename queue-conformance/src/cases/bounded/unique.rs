//! L9 on bounded queues: messages that leave to make room end their unique marks.

use queue_core::*;

use super::*;
use crate::{stage::Stage, steps::*};

fn unique(key: &'static str) -> Push {
    Push::new("x").with_unique(key, LONG)
}

/// An offer that replaces the offer before it (B7).
fn replacing_offer(push: impl Into<Push>) -> Offer {
    Offer::new(push).with_distinct("distinct")
}

/// Offers one message, for which the oldest makes room.
async fn cram(queue: &Arc<dyn BoundedQueue>, offer: impl Into<Offer> + Send) -> Offered {
    let offered = queue.offer_one(offer, Overflow::DropOldest).await;
    offered.expect("offers")
}

async fn marks(queue: &Arc<dyn BoundedQueue>) -> u64 {
    queue.counters().await.expect("counters").dedup_marks
}

pub(crate) async fn l9_an_eviction_frees_the_unique_key(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    assert_eq!(cram(&queue, unique("key")).await, accepted(1));
    assert_eq!(
        cram(&queue, unique("key")).await,
        Offered::Duplicate(id(1)),
        "a duplicate evicts nothing"
    );
    assert_eq!(cram(&queue, "x").await, evicting(2, 1));
    assert_eq!(cram(&queue, unique("key")).await, evicting(3, 2), "evicted");
    let later = unique("later").with_due(FAR);
    assert_eq!(cram(&queue, later).await, evicting(4, 3));
    assert_eq!(cram(&queue, "x").await, evicting(5, 4));
    let pushed = cram(&queue, unique("later")).await;
    assert_eq!(pushed, evicting(6, 5), "evicted while it was delayed");
    assert_eq!(marks(&queue).await, 1);
}

pub(crate) async fn l9_a_replacement_frees_the_unique_key(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    let first = cram(&queue, replacing_offer(unique("a"))).await;
    assert_eq!(first, accepted(1));
    let second = cram(&queue, replacing_offer(unique("b"))).await;
    assert_eq!(second, replacing(2, 1));
    assert_eq!(cram(&queue, unique("a")).await, accepted(3), "replaced");
    assert_eq!(cram(&queue, unique("b")).await, Offered::Duplicate(id(2)));
    let held = take(&*queue, 9).await;
    let beside = cram(&queue, replacing_offer("x")).await;
    assert_eq!(beside, accepted(4), "what is leased is not replaced");
    let pushed = cram(&queue, unique("b")).await;
    assert_eq!(pushed, Offered::Duplicate(id(2)), "and keeps its mark");
    ack_all(&*queue, &held).await;
    assert_eq!(marks(&queue).await, 0);
}

pub(crate) async fn l9_a_resize_frees_the_unique_keys_of_what_it_drops(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    for key in ["held", "ready"] {
        cram(&queue, unique(key)).await;
    }
    cram(&queue, unique("later").with_due(FAR)).await;
    let held = take_one(&*queue).await;
    let dropped = queue.resize(count(1)).await.expect("resizes");
    assert_eq!(numbers(&dropped), [2, 3]);
    assert_eq!(marks(&queue).await, 1);
    assert_eq!(
        cram(&queue, unique("held")).await,
        Offered::Duplicate(id(1))
    );
    ack(&*queue, &held).await;
    assert_eq!(cram(&queue, unique("ready")).await, accepted(4));
    assert_eq!(cram(&queue, unique("later")).await, evicting(5, 4));
}

pub(crate) async fn l9_a_batch_frees_the_unique_keys_of_what_it_evicts(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    let [a, b] = ["a", "b"].map(|key| Offer::new(unique(key)));
    let batch = [a.clone(), b.clone(), a.clone(), a.clone()];
    let offered = queue.offer(&batch, Overflow::DropOldest).await;
    let expected = [
        accepted(1),
        evicting(2, 1),
        evicting(3, 2),
        Offered::Duplicate(id(3)),
    ];
    assert_eq!(offered.expect("offers"), expected, "of its own messages");
    let batch = [a.clone(), b, a];
    let offered = queue.offer(&batch, Overflow::DropOldest).await;
    let expected = [Offered::Duplicate(id(3)), evicting(4, 3), evicting(5, 4)];
    assert_eq!(offered.expect("offers"), expected, "of an earlier batch");
    assert_eq!(marks(&queue).await, 1);
    assert_eq!(drain(&*queue).await, [5]);
    assert_eq!(marks(&queue).await, 0);
}

pub(crate) async fn l9_a_batch_frees_the_unique_keys_of_what_it_replaces(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    let batch = [
        replacing_offer(unique("a")),
        replacing_offer("x"),
        Offer::new(unique("a")),
    ];
    let offered = queue.offer(&batch, Overflow::Reject).await;
    let expected = [accepted(1), replacing(2, 1), accepted(3)];
    assert_eq!(offered.expect("offers"), expected);
    assert_eq!(marks(&queue).await, 1);
    assert_eq!(drain(&*queue).await, [2, 3]);
    assert_eq!(marks(&queue).await, 0);
}
