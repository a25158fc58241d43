use queue_core::*;

use super::*;
use crate::{stage::Stage, steps::*};

pub(crate) async fn b1_what_drops_the_oldest_is_never_longer(stage: &Stage<'_>) {
    const CAPACITY: u64 = 8;
    let queue = stage.bounded(CAPACITY as usize).await;
    let mut producers = Vec::new();
    for producer in 0..4 {
        let queue = queue.clone();
        producers.push(tokio::spawn(async move {
            let mut dropped = Vec::new();
            for number in 0..50 {
                let body = format!("{producer}:{number}");
                let offered = cram(&queue, body).await;
                if let Pushed::Evicted { evicted, .. } = offered {
                    dropped.push(evicted);
                }
                let depth = queue.depth().await.expect("depth");
                assert!(depth.occupied() <= CAPACITY, "{depth:?}");
                tokio::task::yield_now().await;
            }
            dropped
        }));
    }
    let mut dropped = Vec::new();
    for producer in producers {
        dropped.extend(producer.await.expect("runs"));
    }
    assert_eq!(depth(&*queue).await, [CAPACITY, 0, 0, 0]);
    if stage.keeps("B2") {
        dropped.sort_unstable();
        let oldest: Vec<_> = (1..=4 * 50 - CAPACITY).map(id).collect();
        assert_eq!(dropped, oldest, "each once");
    }
}

pub(crate) async fn b6_recent_reads_what_was_offered_last(stage: &Stage<'_>) {
    let queue = stage.bounded(3).await;
    for number in 1..=5 {
        accepted_as(cram(&queue, format!("m{number}")).await);
    }
    for (n, expected) in [
        (1, &["m5"][..]),
        (2, &["m5", "m4"]),
        (9, &["m5", "m4", "m3"]),
    ] {
        let messages = queue.recent(n).await.expect("reads");
        let bodies: Vec<&[u8]> = messages.iter().map(|message| &message.body[..]).collect();
        let expected: Vec<&[u8]> = expected.iter().map(|body| body.as_bytes()).collect();
        assert_eq!(bodies, expected, "the newest first");
    }
    assert_eq!(queue.capacity().await.expect("capacity").get(), 3);
    assert_eq!(depth(&*queue).await, [3, 0, 0, 0]);
}

pub(crate) async fn b2_drop_oldest_removes_the_next_in_delivery_order(stage: &Stage<'_>) {
    let queue = stage.bounded(3).await;
    for number in 1..=3 {
        assert_eq!(cram(&queue, "x").await, accepted(number), "only when full");
    }
    assert_eq!(cram(&queue, "x").await, evicting(4, 1));
    let batch = vec![Push::new("x"); 2];
    let offered = cram_all(&queue, &batch).await;
    assert_eq!(offered, [evicting(5, 2), evicting(6, 3)]);
    assert_eq!(drain(&*queue).await, [4, 5, 6]);
}

pub(crate) async fn b2_what_came_back_is_next_and_is_dropped_first(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    fill(&queue, 4).await;
    let deliveries = take(&*queue, 3).await;
    settle_live(&*queue, Settlement::release(deliveries[2].receipt)).await;
    settle_live(&*queue, Settlement::release(deliveries[1].receipt)).await;
    assert_eq!(cram(&queue, "x").await, evicting(5, 2));
    assert_eq!(cram(&queue, "x").await, evicting(6, 3));
    assert_eq!(cram(&queue, "x").await, evicting(7, 4));
    ack(&*queue, &deliveries[0]).await;
}

pub(crate) async fn b2_delayed_ones_are_dropped_last_by_due_time(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    fill(&queue, 4).await;
    let deliveries = take(&*queue, 3).await;
    settle_live(&*queue, Settlement::retry(deliveries[0].receipt, 2 * LONG)).await;
    settle_live(&*queue, Settlement::defer(deliveries[1].receipt, LONG)).await;
    let batch = vec![Push::new("x"); 5];
    let offered = cram_all(&queue, &batch).await;
    let expected = [
        evicting(5, 4),
        evicting(6, 5),
        evicting(7, 6),
        evicting(8, 7),
        evicting(9, 8),
    ];
    assert_eq!(offered, expected, "ready ones before delayed ones");
    let ready = take_one(&*queue).await;
    assert_eq!(ready.id(), id(9));
    assert_eq!(cram(&queue, "x").await, evicting(10, 2), "due first");
    let newest = take_one(&*queue).await;
    assert_eq!(cram(&queue, "x").await, evicting(11, 1));
    ack_all(&*queue, &[deliveries[2].clone(), ready, newest]).await;
}

pub(crate) async fn b2_what_was_cancelled_is_not_dropped(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    fill(&queue, 4).await;
    assert_eq!(cancel(&*queue, &[1, 3]).await, [Cancelled::Cancelled; 2]);
    fill(&queue, 2).await;
    assert_eq!(cram(&queue, "x").await, evicting(7, 2));
    assert_eq!(cram(&queue, "x").await, evicting(8, 4));
    assert_eq!(cancel(&*queue, &[5]).await, [Cancelled::Cancelled]);
    let dropped = queue.resize(count(2)).await.expect("resizes");
    assert_eq!(numbers(&dropped), [6]);
    assert_eq!(drain(&*queue).await, [7, 8]);
}

pub(crate) async fn b2_all_leased_means_full(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    fill(&queue, 2).await;
    let deliveries = take(&*queue, 2).await;
    assert_eq!(cram(&queue, "x").await, Pushed::Full);
    assert_eq!(depth(&*queue).await, [0, 0, 2, 0]);
    ack(&*queue, &deliveries[0]).await;
    assert_eq!(cram(&queue, "x").await, accepted(3));
    assert_eq!(cram(&queue, "x").await, evicting(4, 3));
}

pub(crate) async fn b2_a_batch_longer_than_the_queue_leaves_its_end(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    let batch = vec![Push::new("x"); 4];
    let offered = cram_all(&queue, &batch).await;
    assert_eq!(
        offered,
        [accepted(1), accepted(2), evicting(3, 1), evicting(4, 2)]
    );
    assert_eq!(drain(&*queue).await, [3, 4]);
}

pub(crate) async fn b2_push_all_splits_and_reports(stage: &Stage<'_>) {
    let queue = stage.bounded(250).await;
    let batch = vec![Push::new("x").with_overflow(Overflow::DropOldest); 300];
    let pushed = queue.push_all(&batch).await.expect("pushes");
    assert_eq!(pushed.len(), 300);
    assert_eq!(pushed[249], accepted(250));
    assert_eq!(pushed[250], evicting(251, 1));
    assert_eq!(drain(&*queue).await, (51..=300).collect::<Vec<u64>>());
}
