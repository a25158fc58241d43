//! Waiting for messages that were pushed with a due time.

use super::later;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn waiting_a_message_pushed_for_later_comes_in_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(60)).await;
    let waiting = stage.receiver(&queue).await;
    let delivery = stage
        .within("a receive at the due time", ms(60), waiting)
        .await;
    assert_eq!(delivery.id(), id(1));
    // The next consumer knows of no due time when it begins to wait.
    let waiting = stage.receiver(&queue).await;
    queue.put(later(60)).await;
    let delivery = stage
        .within("a receive at the due time", ms(60), waiting)
        .await;
    assert_eq!(delivery.id(), id(2));
}

pub(crate) async fn waiting_a_sooner_push_wakes_who_sleeps_towards_a_later(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(1_000_000)).await;
    let waiting = stage.receiver(&queue).await;
    queue.put(later(500_000)).await;
    queue.put(later(60)).await;
    let delivery = stage
        .within("a receive of the sooner", ms(60), waiting)
        .await;
    assert_eq!(delivery.id(), id(3));
}

pub(crate) async fn waiting_a_plain_push_wakes_who_sleeps_towards_a_later(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(1_000_000)).await;
    let waiting = stage.receiver(&queue).await;
    queue.put("x").await;
    let delivery = stage.prompt("a receive of what is ready", waiting).await;
    assert_eq!(delivery.id(), id(2));
}

pub(crate) async fn waiting_all_that_is_due_at_once_wakes_as_many(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(stage.receiver(&queue).await);
    }
    let batch = vec![later(60); 4];
    queue.try_put(&batch).await.expect("is accepted");
    let mut after = ms(60);
    let mut seen = Vec::new();
    for task in waiting {
        let delivery = stage.within("one of four", after, task).await;
        seen.push(delivery.id().get());
        after = ms(0);
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3, 4]);
}
