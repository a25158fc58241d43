//! F1 and F2: first in, first out.

use std::sync::Arc;

use queue_core::*;

use crate::{
    stage::{Stage, openers},
    steps::*,
};

openers!(open_reliable: reliable_with, try_reliable, ReliableConfig, ReliableQueue);

impl Stage<'_> {
    pub(crate) async fn reliable(&self) -> Arc<dyn ReliableQueue> {
        self.reliable_with(ReliableConfig::default()).await
    }
}

pub(crate) async fn f1_messages_are_first_delivered_in_push_order(stage: &Stage<'_>) {
    let queue = stage.reliable().await;
    for number in 1..=20_u64 {
        let pushed = queue.push_one(format!("m{number}")).await.expect("pushes");
        assert_eq!(pushed, accepted(number), "ids count from 1");
    }
    assert_eq!(ids(&take(&*queue, 7).await), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(drain(&*queue).await, (8..=20).collect::<Vec<u64>>());
}

pub(crate) async fn f1_concurrent_consumers_see_one_order(stage: &Stage<'_>) {
    // Tokens show the order of the leases.
    stage.needs_rule("L4");
    let queue = stage.reliable().await;
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let queue = queue.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..60 {
                put(&*queue, "x").await;
                tokio::task::yield_now().await;
            }
            Vec::new()
        }));
    }
    for _ in 0..4 {
        let queue = queue.clone();
        tasks.push(tokio::spawn(async move {
            let mut seen = Vec::new();
            for _ in 0..40 {
                seen.extend(take(&*queue, 2).await.into_iter().map(|one| one.receipt));
                tokio::task::yield_now().await;
            }
            seen
        }));
    }
    let mut seen = Vec::new();
    for task in tasks {
        seen.extend(task.await.expect("runs"));
    }
    seen.extend(take(&*queue, 128).await.into_iter().map(|one| one.receipt));
    seen.extend(take(&*queue, 128).await.into_iter().map(|one| one.receipt));
    seen.sort_by_key(|receipt| receipt.token);
    let order: Vec<u64> = seen.iter().map(|receipt| receipt.id.get()).collect();
    assert_eq!(
        order,
        (1..=180).collect::<Vec<u64>>(),
        "by token, in push order"
    );
}

pub(crate) async fn f2_a_batch_keeps_its_inner_order(stage: &Stage<'_>) {
    let queue = stage.reliable().await;
    let mut producers = Vec::new();
    for producer in ["a", "b", "c"] {
        let queue = queue.clone();
        producers.push(tokio::spawn(async move {
            for batch in 0..5 {
                let body = |number| Push::new(format!("{producer}{batch}{number}"));
                let batch: Vec<Push> = (0..10).map(body).collect();
                queue.push(&batch).await.expect("pushes");
                tokio::task::yield_now().await;
            }
        }));
    }
    for producer in producers {
        producer.await.expect("runs");
    }
    let mut bodies = Vec::new();
    while let Some(delivery) = take(&*queue, 1).await.pop() {
        bodies.push(String::from_utf8(delivery.body.to_vec()).expect("is text"));
        ack(&*queue, &delivery).await;
    }
    assert_eq!(bodies.len(), 150);
    for batch in bodies.chunks(10) {
        let start = &batch[0][..2];
        let expected: Vec<String> = (0..10).map(|number| format!("{start}{number}")).collect();
        assert_eq!(batch, expected, "nothing comes between");
    }
}
