//! B7 on a full queue: a replacement needs no room.

use queue_core::*;

use super::*;
use crate::{stage::Stage, steps::*};

pub(crate) async fn b7_a_full_queue_replaces_too(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    assert_eq!(pushed(&*queue, keyed("x")).await, accepted(1));
    fill(&queue, 1).await;
    assert_eq!(pushed(&*queue, keyed("x")).await, replacing(3, 1));
    let offered = cram(&queue, keyed("x")).await;
    assert_eq!(offered, replacing(4, 3));
    assert_eq!(drain(&*queue).await, [2, 4], "and evicts nothing");
}

pub(crate) async fn b7_a_full_queue_replaces_within_a_batch(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    let batch = [keyed("a"), Push::new("x"), keyed("b"), keyed("c")];
    let pushed = queue.push(&batch).await.expect("pushes");
    let expected = [accepted(1), accepted(2), replacing(3, 1), replacing(4, 3)];
    assert_eq!(pushed, expected);
    assert_eq!(drain(&*queue).await, [2, 4]);
}

pub(crate) async fn b7_a_dropped_messages_key_is_free(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    put(&*queue, keyed("x")).await;
    fill(&queue, 1).await;
    assert_eq!(cram(&queue, "x").await, evicting(3, 1));
    assert_eq!(cram(&queue, keyed("x")).await, evicting(4, 2), "evicted");
    let held = take_one(&*queue).await;
    assert_eq!(held.id(), id(3));
    let dropped = queue.resize(count(1)).await.expect("resizes");
    assert_eq!(numbers(&dropped), [4]);
    ack(&*queue, &held).await;
    let pushed = pushed(&*queue, keyed("x")).await;
    assert_eq!(pushed, accepted(5), "trimmed by the resize");
}
