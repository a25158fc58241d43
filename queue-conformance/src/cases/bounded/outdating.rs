//! L17 on bounded queues: an end makes room, and frees the distinct key.

use queue_core::*;

use super::*;
use crate::{stage::Stage, steps::*};

pub(crate) async fn l17_an_end_makes_room(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    assert_eq!(pushed(&*queue, dropped_after(100)).await, accepted(1));
    let delayed = buried_after(100).with_due(NEVER);
    assert_eq!(pushed(&*queue, delayed).await, accepted(2));
    stage.advance(99).await;
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full, "1 ms before");
    stage.advance(1).await;
    for number in [3, 4] {
        assert_eq!(pushed(&*queue, "x").await, accepted(number));
    }
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
    assert_eq!(ended(&*queue).await, (1, 1));
    assert_eq!(drain(&*queue).await, [3, 4]);
}

pub(crate) async fn l17_what_has_ended_is_not_evicted(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    fill(&queue, 1).await;
    assert_eq!(pushed(&*queue, dropped_after(100)).await, accepted(2));
    stage.advance(100).await;
    assert_eq!(cram(&queue, "x").await, accepted(3));
    assert_eq!(cram(&queue, "x").await, evicting(4, 1));
}

pub(crate) async fn l17_a_waiting_producer_learns_of_an_end(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    assert_eq!(pushed(&*queue, dropped_after(100)).await, accepted(1));
    let waiting = producer(stage, &queue).await;
    stage.advance(100).await;
    // Any call ends it.
    queue.depth().await.expect("depth");
    let offered = stage.prompt("an offer after an end", waiting).await;
    assert_eq!(offered, accepted(2));
}
