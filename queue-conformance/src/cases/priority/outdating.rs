//! L17 on priority queues: messages end by their time, whatever their priority.

use std::sync::Arc;

use queue_core::*;

use crate::{
    stage::{Stage, ms},
    steps::*,
};

/// Fails unless the queue buries outdated messages by (end, id), and delivers the others.
async fn end_by_time(stage: &Stage<'_>, queue: &Arc<dyn PriorityQueue>) {
    let batch = [(0, 10), (9, 20), (5, 10), (-9, 30)]
        .map(|(priority, millis)| buried_after(millis).with_priority(priority));
    queue.push(&batch).await.expect("is accepted");
    stage.advance(20).await;
    assert_eq!(buried_at_their_ends(&**queue).await, [1, 3, 2]);
    assert_eq!(drain(&**queue).await, [4]);
}

pub(crate) async fn l17_messages_end_by_time_and_not_by_priority(stage: &Stage<'_>) {
    end_by_time(stage, &stage.priority().await).await;
}

pub(crate) async fn l17_messages_of_any_age_end_by_time(stage: &Stage<'_>) {
    let config = PriorityConfig::default().with_ageing(ms(100));
    end_by_time(stage, &stage.priority_with(config).await).await;
}
