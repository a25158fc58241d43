//! P4: the ageing is stored, and changes while it orders nothing.

use queue_core::*;

use super::order::{ageing, enqueue};
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn p4_ageing_is_stored(stage: &Stage<'_>) {
    ageing(stage, 100).await;
    let attempts = PriorityConfig::default().with_max_attempts(20);
    let strict = stage.try_priority("queue", &attempts).await.map(drop);
    refused_as(
        ErrorKind::ConfigMismatch,
        strict,
        &["ageing", "100 ms", "none"],
    );
    let other = stage
        .try_priority("queue", &attempts.with_ageing(ms(200)))
        .await
        .map(drop);
    refused_as(
        ErrorKind::ConfigMismatch,
        other,
        &["ageing", "100 ms", "200 ms"],
    );
}

pub(crate) async fn p4_the_ageing_changes_while_nothing_is_ready(stage: &Stage<'_>) {
    let queue = ageing(stage, 20).await;
    enqueue(&queue, &[0]).await;
    let attempts = PriorityConfig::default().with_max_attempts(9);
    let aged = attempts.clone().with_ageing(ms(20));
    let changed = stage.reconfigure(aged.into()).await;
    assert!(changed.expect("changes, since the ageing stays"));
    let strict = || stage.reconfigure(attempts.clone().into());
    refused(strict().await, "1 messages are ready");
    let delivery = take_one(&*queue).await;
    assert!(strict().await.expect("changes, since none is ready"));
    stage.advance(100).await;
    enqueue(&queue, &[1]).await;
    settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    assert_eq!(drain(&*queue).await, [2, 1], "by priority alone");
}
