//! Messages of a bounded queue that are pushed with a due time (D1).

use std::time::Duration;

use queue_core::*;

use super::*;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// A push of a message that is due the given time later.
fn later(delay: Duration) -> Push {
    Push::new("x").with_due(delay)
}

pub(crate) async fn b1_a_delayed_push_takes_room(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    let batch = vec![later(FAR); 3];
    let offered = queue.push(&batch).await.expect("pushes");
    assert_eq!(offered, [accepted(1), accepted(2), Pushed::Full]);
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
    assert_eq!(depth(&*queue).await, [0, 2, 0, 0]);
}

pub(crate) async fn b2_a_delayed_push_is_dropped_last(stage: &Stage<'_>) {
    let queue = stage.bounded(3).await;
    let batch = [later(2 * FAR), later(FAR), Push::new("ready")];
    queue.push(&batch).await.expect("pushes");
    let offered = cram(&queue, "x").await;
    assert_eq!(offered, evicting(4, 3), "what is ready goes first");
    let mut held = vec![take_one(&*queue).await];
    let offered = cram(&queue, "x").await;
    assert_eq!(offered, evicting(5, 2), "then what is due first");
    held.push(take_one(&*queue).await);
    let last = cram(&queue, later(3 * FAR)).await;
    assert_eq!(last, evicting(6, 1));
    assert_eq!(shown(&*queue, Place::Delayed).await, [6]);
    assert_eq!(cram(&queue, "x").await, evicting(7, 6));
    ack_all(&*queue, &held).await;
}

pub(crate) async fn b6_recent_leaves_delayed_pushes_out(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    fill(&queue, 2).await;
    assert_eq!(pushed(&*queue, later(ms(10))).await, accepted(3));
    let recent = async || {
        let messages = queue.recent(9).await.expect("reads");
        let ids = messages.iter().map(|message| message.id.get());
        ids.collect::<Vec<u64>>()
    };
    assert_eq!(recent().await, [2, 1]);
    stage.advance(10).await;
    assert_eq!(recent().await, [3, 2, 1], "it joined when it was due");
    fill(&queue, 1).await;
    assert_eq!(recent().await, [4, 3, 2, 1]);
    assert_eq!(drain(&*queue).await, [1, 2, 3, 4]);
}
