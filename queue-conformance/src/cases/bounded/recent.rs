use queue_core::*;

use super::*;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

async fn recent(queue: &Arc<dyn BoundedQueue>, n: usize) -> Vec<u64> {
    let messages = queue.recent(n).await.expect("reads");
    messages.iter().map(|message| message.id.get()).collect()
}

pub(crate) async fn b6_recent_reads_the_newest_first_and_takes_nothing(stage: &Stage<'_>) {
    let queue = stage.bounded(10).await;
    assert_eq!(recent(&queue, 5).await, Vec::<u64>::new());
    let push = Push::new("body").with_header("tenant", "acme");
    put(&*queue, push.clone()).await;
    fill(&queue, 4).await;
    assert_eq!(recent(&queue, 3).await, [5, 4, 3]);
    assert_eq!(recent(&queue, 5).await, [5, 4, 3, 2, 1]);
    let messages = queue.recent(1_000).await.expect("reads");
    assert_eq!(messages.len(), 5);
    assert_eq!(
        (&messages[4].body, &messages[4].headers),
        (&push.body, &push.headers)
    );
    assert_eq!(depth(&*queue).await, [5, 0, 0, 0]);
    assert_eq!(drain(&*queue).await, [1, 2, 3, 4, 5]);
}

pub(crate) async fn b6_recent_is_the_reverse_of_the_delivery_order(stage: &Stage<'_>) {
    let queue = stage.bounded(10).await;
    fill(&queue, 6).await;
    let deliveries = take(&*queue, 5).await;
    let receipt = |index: usize| deliveries[index].receipt;
    settle_live(&*queue, Settlement::retry(receipt(0), ms(10))).await;
    settle_live(&*queue, Settlement::defer(receipt(1), ms(900))).await;
    settle_live(&*queue, Settlement::release(receipt(3))).await;
    settle_live(&*queue, Settlement::release(receipt(2))).await;
    stage.advance(10).await;
    let newest = recent(&queue, 10).await;
    assert_eq!(newest, [1, 6, 4, 3], "neither delayed nor leased ones");
    let newest = recent(&queue, 3).await;
    assert_eq!(newest, [1, 6, 4], "what came back is the oldest");
    assert_eq!(drain(&*queue).await, [3, 4, 6, 1]);
}

pub(crate) async fn b6_recent_leaves_out_what_was_cancelled(stage: &Stage<'_>) {
    let queue = stage.bounded(10).await;
    fill(&queue, 6).await;
    assert_eq!(cancel(&*queue, &[6, 1, 3]).await, [Cancelled::Cancelled; 3]);
    assert_eq!(recent(&queue, 10).await, [5, 4, 2]);
    assert_eq!(recent(&queue, 2).await, [5, 4], "as many as asked for");
    assert_eq!(depth(&*queue).await, [3, 0, 0, 0]);
}

pub(crate) async fn l16_what_is_shown_is_the_reverse_of_recent(stage: &Stage<'_>) {
    let queue = stage.bounded(10).await;
    fill(&queue, 6).await;
    for delivery in take(&*queue, 2).await {
        settle_live(&*queue, Settlement::release(delivery.receipt)).await;
    }
    assert_eq!(cancel(&*queue, &[4]).await, [Cancelled::Cancelled]);
    let mut order = shown(&*queue, Place::Ready).await;
    assert_eq!(order, [1, 2, 3, 5, 6]);
    order.reverse();
    assert_eq!(recent(&queue, 10).await, order);
}

pub(crate) async fn b6_recent_reads_no_more_than_8_mib(stage: &Stage<'_>) {
    let config = BoundedConfig::new(10).with_max_body(limits::MAX_BATCH_BYTES);
    let queue = stage.bounded_with(config).await;
    let half = limits::MAX_BATCH_BYTES / 2;
    for size in [2 * half, half, half, half + 1] {
        put(&*queue, vec![0; size]).await;
    }
    let newest = recent(&queue, 10).await;
    assert_eq!(newest, [4], "the next would be one byte too many");
    bury(&queue, 4).await;
    assert_eq!(recent(&queue, 10).await, [3, 2], "exactly 8 MiB");
    bury(&queue, 3).await;
    bury(&queue, 2).await;
    assert_eq!(recent(&queue, 10).await, [1], "always one");
}

/// Buries one message, and puts the others back.
async fn bury(queue: &Arc<dyn BoundedQueue>, number: u64) {
    let mut held = Vec::new();
    while let Some(delivery) = take(&**queue, 1).await.pop() {
        held.push(delivery.receipt);
    }
    for receipt in held {
        let settlement = if receipt.id == id(number) {
            Settlement::bury(receipt, "out of the way")
        } else {
            Settlement::release(receipt)
        };
        settle_live(&**queue, settlement).await;
    }
}

pub(crate) async fn limits_recent_reads_1_to_1000(stage: &Stage<'_>) {
    let queue = stage.bounded(9).await;
    refused(queue.recent(0).await, "0 entries");
    refused(queue.recent(1_001).await, "1001");
}
