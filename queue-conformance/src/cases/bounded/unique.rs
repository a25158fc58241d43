//! L9 on bounded queues: messages that leave to make room end their unique marks.

use queue_core::*;

use super::*;
use crate::{stage::Stage, steps::*};

fn unique(key: &'static str) -> Push {
    Push::new("x").with_unique(key, LONG)
}

async fn marks(queue: &Arc<dyn BoundedQueue>) -> u64 {
    queue.counters().await.expect("counters").dedup_marks
}

pub(crate) async fn l9_an_eviction_frees_the_unique_key(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    assert_eq!(cram(&queue, unique("key")).await, accepted(1));
    assert_eq!(
        cram(&queue, unique("key")).await,
        duplicate(1),
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

pub(crate) async fn l9_a_resize_frees_the_unique_keys_of_what_it_drops(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    for key in ["held", "ready"] {
        put(&*queue, unique(key)).await;
    }
    put(&*queue, unique("later").with_due(FAR)).await;
    let held = take_one(&*queue).await;
    let dropped = queue.resize(count(1)).await.expect("resizes");
    assert_eq!(numbers(&dropped), [2, 3]);
    assert_eq!(marks(&queue).await, 1);
    assert_eq!(cram(&queue, unique("held")).await, duplicate(1));
    ack(&*queue, &held).await;
    assert_eq!(cram(&queue, unique("ready")).await, accepted(4));
    assert_eq!(cram(&queue, unique("later")).await, evicting(5, 4));
}

pub(crate) async fn l9_a_batch_frees_the_unique_keys_of_what_it_evicts(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    let [a, b] = ["a", "b"].map(unique);
    let batch = [a.clone(), b.clone(), a.clone(), a.clone()];
    let offered = cram_all(&queue, &batch).await;
    let expected = [accepted(1), evicting(2, 1), evicting(3, 2), duplicate(3)];
    assert_eq!(offered, expected, "of its own messages");
    let batch = [a.clone(), b, a];
    let offered = cram_all(&queue, &batch).await;
    let expected = [duplicate(3), evicting(4, 3), evicting(5, 4)];
    assert_eq!(offered, expected, "of an earlier batch");
    assert_eq!(marks(&queue).await, 1);
    assert_eq!(drain(&*queue).await, [5]);
    assert_eq!(marks(&queue).await, 0);
}
