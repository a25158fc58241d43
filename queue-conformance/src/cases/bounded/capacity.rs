use std::sync::atomic::{AtomicBool, Ordering};

use queue_core::*;

use super::*;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn b1_ready_delayed_and_leased_count_towards_the_capacity(stage: &Stage<'_>) {
    let queue = stage.bounded(3).await;
    fill(&queue, 3).await;
    let offered = pushed(&*queue, "x").await;
    assert_eq!(offered, Pushed::Full, "3 ready");
    let deliveries = take(&*queue, 2).await;
    let offered = pushed(&*queue, "x").await;
    assert_eq!(offered, Pushed::Full, "1 ready, 2 leased");
    settle_live(&*queue, Settlement::retry(deliveries[0].receipt, ms(50))).await;
    let offered = pushed(&*queue, "x").await;
    assert_eq!(offered, Pushed::Full, "one of each");
    assert_eq!(depth(&*queue).await, [1, 1, 1, 0]);
    settle_live(&*queue, Settlement::bury(deliveries[1].receipt, "dead")).await;
    let offered = pushed(&*queue, "x").await;
    assert_eq!(offered, accepted(4), "a dead one takes no room");
    stage.advance(50).await;
    assert_eq!(depth(&*queue).await, [3, 0, 0, 1]);
}

pub(crate) async fn b1_what_one_call_leased_takes_room_until_it_is_settled(stage: &Stage<'_>) {
    let queue = stage.bounded(8).await;
    fill(&queue, 8).await;
    let mut held = Vec::new();
    while held.len() < 8 {
        held.extend(take(&*queue, 8).await);
    }
    let full = pushed(&*queue, "x").await;
    assert_eq!(full, Pushed::Full, "8 leased");
    let acks = settlements(&held, Settlement::ack);
    assert_eq!(
        queue.settle(&acks[..2]).await.expect("settles"),
        [Settled::Done; 2]
    );
    for number in [9, 10] {
        assert_eq!(pushed(&*queue, "x").await, accepted(number));
    }
    let full = pushed(&*queue, "x").await;
    assert_eq!(full, Pushed::Full, "6 leased, 2 ready");
    assert_eq!(
        queue.settle(&acks[2..]).await.expect("settles"),
        [Settled::Done; 6]
    );
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0]);
    for number in 11..17 {
        assert_eq!(pushed(&*queue, "x").await, accepted(number));
    }
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
}

pub(crate) async fn b1_room_is_counted_after_reclaiming(stage: &Stage<'_>) {
    let config = BoundedConfig::new(2).with_max_attempts(1);
    let queue = stage.bounded_with(config).await;
    fill(&queue, 2).await;
    take_for(&*queue, 2, ms(10)).await;
    stage.advance(9).await;
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
    stage.advance(1).await;
    let offered = pushed(&*queue, "x").await;
    assert_eq!(offered, accepted(3), "both died");
}

pub(crate) async fn b1_the_length_holds_at_every_instant(stage: &Stage<'_>) {
    const CAPACITY: u64 = 8;
    let queue = stage.bounded(CAPACITY as usize).await;
    let over = std::sync::Arc::new(AtomicBool::new(false));
    let mut workers = Vec::new();
    for worker in 0..3 {
        let queue = queue.clone();
        workers.push(tokio::spawn(async move {
            for round in 0..60 {
                let policy = if (worker + round) % 2 == 0 {
                    Overflow::Reject
                } else {
                    Overflow::DropOldest
                };
                let mut batch = vec![Push::new("x").with_overflow(policy); 3];
                batch.push(keyed("y").with_overflow(policy));
                queue.push(&batch).await.expect("pushes");
                tokio::task::yield_now().await;
            }
        }));
    }
    for _ in 0..3 {
        let queue = queue.clone();
        workers.push(tokio::spawn(async move {
            for round in 0..60 {
                for delivery in take(&*queue, 2).await {
                    tokio::task::yield_now().await;
                    let receipt = delivery.receipt;
                    let settlement = match round % 4 {
                        0 => Settlement::ack(receipt),
                        1 => Settlement::release(receipt),
                        2 => Settlement::retry(receipt, ms(0)),
                        _ => Settlement::bury(receipt, "dead"),
                    };
                    let settled = settle(&*queue, settlement).await;
                    assert_ne!(settled, Settled::LeaseLost, "nobody else has it");
                }
            }
        }));
    }
    let (watched, stop) = (queue.clone(), over.clone());
    let watcher = tokio::spawn(async move {
        let mut reads = 0;
        while !stop.load(Ordering::SeqCst) {
            let counters = watched.counters().await.expect("counters");
            assert!(counters.depth.occupied() <= CAPACITY, "{counters:?}");
            assert!(counters.balance(), "{counters:?}");
            reads += 1;
            tokio::task::yield_now().await;
        }
        reads
    });
    for worker in workers {
        worker.await.expect("runs");
    }
    over.store(true, Ordering::SeqCst);
    assert!(watcher.await.expect("runs") > 0, "it was watched");
}

pub(crate) async fn b3_a_rejected_entry_changes_nothing(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    let batch = ["a", "b", "c"].map(|key| Push::new(key).with_dedup(key, LONG));
    let offered = queue.push(&batch).await.expect("pushes");
    assert_eq!(
        offered,
        [accepted(1), accepted(2), Pushed::Full],
        "each by itself, in order"
    );
    let counters = queue.counters().await.expect("counters");
    assert_eq!(
        (counters.accepted, counters.dedup_marks),
        (2, 2),
        "no id, no mark"
    );
    ack(&*queue, &take_one(&*queue).await).await;
    let offered = queue.push(&batch).await.expect("pushes");
    let expected = [duplicate(1), duplicate(2), accepted(3)];
    assert_eq!(offered, expected);
}

pub(crate) async fn l9_a_duplicate_is_never_full_and_evicts_nothing(stage: &Stage<'_>) {
    let queue = stage.bounded(1).await;
    let marked = || Push::new("x").with_dedup("key", LONG);
    for policy in [Overflow::Reject, Overflow::DropOldest] {
        let offered = pushed(&*queue, marked().with_overflow(policy)).await;
        assert_eq!(offered.is_duplicate(), policy != Overflow::Reject);
        let again = pushed(&*queue, marked().with_overflow(policy)).await;
        assert_eq!(again, duplicate(1), "{policy:?}");
    }
    assert_eq!(cram(&queue, "x").await, evicting(2, 1));
    let again = pushed(&*queue, marked()).await;
    assert_eq!(again, duplicate(1), "the mark outlives an eviction");
}

pub(crate) async fn l13_a_full_queue_refuses_a_revival(stage: &Stage<'_>) {
    let queue = stage.bounded(2).await;
    fill(&queue, 2).await;
    bury_next(&*queue, "dead").await;
    bury_next(&*queue, "dead").await;
    fill(&queue, 1).await;
    let revived = queue
        .revive(&[id(1), id(2), id(9)], Revival::WithState)
        .await
        .expect("revives");
    assert_eq!(
        revived,
        [Revived::Revived, Revived::Full, Revived::NotFound]
    );
    assert_eq!(depth(&*queue).await, [2, 0, 0, 1], "the dead letter stays");
    assert_eq!(drain(&*queue).await, [3, 1]);
    assert_eq!(
        queue
            .revive(&[id(2)], Revival::WithState)
            .await
            .expect("revives"),
        [Revived::Revived]
    );
}

pub(crate) async fn b5_resize_trims_the_oldest_at_once_and_reports_them(stage: &Stage<'_>) {
    let queue = stage.bounded(6).await;
    fill(&queue, 6).await;
    let deliveries = take(&*queue, 2).await;
    settle_live(&*queue, Settlement::retry(deliveries[0].receipt, ms(90))).await;
    assert_eq!(queue.resize(count(6)).await.expect("resizes"), []);
    let dropped = queue.resize(count(4)).await.expect("resizes");
    assert_eq!(numbers(&dropped), [3, 4], "in delivery order");
    assert_eq!(queue.capacity().await.expect("capacity"), count(4));
    let dropped = queue.resize(count(1)).await.expect("resizes");
    assert_eq!(
        numbers(&dropped),
        [5, 6, 1],
        "delayed ones last, leased ones never"
    );
    assert_eq!(depth(&*queue).await, [0, 0, 1, 0]);
    ack(&*queue, &deliveries[1]).await;
    assert_eq!(
        queue.resize(count(3)).await.expect("resizes"),
        [],
        "growing drops nothing"
    );
    fill(&queue, 3).await;
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
    let evicted = queue.counters().await.expect("counters").evicted;
    assert_eq!(evicted, 5);
}

pub(crate) async fn b5_a_resize_drops_more_than_one_step_takes(stage: &Stage<'_>) {
    let queue = stage.bounded(400).await;
    for _ in 0..3 {
        let batch = vec![Push::new("x"); 100];
        queue.push(&batch).await.expect("pushes");
    }
    let dropped = queue.resize(count(2)).await.expect("resizes");
    assert_eq!(numbers(&dropped), (1..=298).collect::<Vec<_>>());
    assert_eq!(depth(&*queue).await, [2, 0, 0, 0]);
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
    let evicted = queue.counters().await.expect("counters").evicted;
    assert_eq!(evicted, 298);
}

pub(crate) async fn b5_what_was_leased_at_a_resize_may_exceed_it(stage: &Stage<'_>) {
    let queue = stage.bounded(4).await;
    fill(&queue, 4).await;
    let deliveries = take(&*queue, 4).await;
    assert_eq!(queue.resize(count(2)).await.expect("resizes"), []);
    assert_eq!(depth(&*queue).await, [0, 0, 4, 0]);
    let offered = cram(&queue, "x").await;
    assert_eq!(offered, Pushed::Full, "all are leased");
    settle_live(&*queue, Settlement::release(deliveries[0].receipt)).await;
    assert_eq!(pushed(&*queue, "x").await, Pushed::Full);
    let offered = cram(&queue, "x").await;
    assert_eq!(offered, evicting(5, 1), "one for one");
    assert_eq!(depth(&*queue).await, [1, 0, 3, 0]);
    ack_all(&*queue, &deliveries[1..]).await;
    assert_eq!(pushed(&*queue, "x").await, accepted(6));
    let offered = pushed(&*queue, "x").await;
    assert_eq!(offered, Pushed::Full, "the new capacity holds");
}

pub(crate) async fn b5_delayed_ones_are_trimmed_by_due_time(stage: &Stage<'_>) {
    let queue = stage.bounded(3).await;
    fill(&queue, 3).await;
    for (delivery, delay) in take(&*queue, 3).await.iter().zip([3, 1, 2]) {
        settle_live(&*queue, Settlement::defer(delivery.receipt, LONG * delay)).await;
    }
    let dropped = numbers(&queue.resize(count(1)).await.expect("resizes"));
    assert_eq!(dropped, [2, 3]);
}

pub(crate) async fn b5_after_a_resize_the_stored_capacity_wins(stage: &Stage<'_>) {
    stage.bounded(3).await;
    let open = async |capacity| {
        stage
            .try_bounded("queue", &BoundedConfig::new(capacity))
            .await
            .map(drop)
    };
    refused_as(
        ErrorKind::ConfigMismatch,
        open(4).await,
        &["capacity", "3", "4"],
    );
    let queue = stage.bounded(3).await;
    queue.resize(count(5)).await.expect("resizes");
    open(3).await.expect("is not compared any more");
    open(77).await.expect("nor is any other");
    assert_eq!(queue.capacity().await.expect("capacity"), count(5));
}

pub(crate) async fn b5_open_or_resize_sets_the_capacity(stage: &Stage<'_>) {
    let open = |capacity| stage.open_or_resize(BoundedConfig::new(capacity));
    let created = open(3).await.expect("creates");
    assert_eq!(created.capacity().await.expect("capacity"), count(3));
    let two = BoundedConfig::new(2);
    let other = stage.try_bounded("queue", &two).await.map(drop);
    let values = ["capacity", "3", "2"];
    refused_as(ErrorKind::ConfigMismatch, other, &values);
    let queue = stage.bounded(3).await;
    fill(&queue, 3).await;
    let smaller = open(2).await.expect("opens");
    assert_eq!(queue.capacity().await.expect("capacity"), count(2));
    let counters = queue.counters().await.expect("counters");
    assert_eq!(
        (counters.depth.ready, counters.evicted),
        (2, 1),
        "the oldest was dropped"
    );
    let another = stage.bounded(3).await;
    assert_eq!(another.capacity().await.expect("capacity"), count(2));
    assert_eq!(ids(&take(&*smaller, 3).await), [2, 3]);
    refused(open(0).await.map(drop), "capacity of 0");
    let other = BoundedConfig::new(3).with_max_attempts(9);
    let other = stage.open_or_resize(other).await.map(drop);
    refused_as(ErrorKind::ConfigMismatch, other, &["max_attempts", "9"]);
    assert_eq!(queue.capacity().await.expect("capacity"), count(2));
    // No answer has named the messages that the opening dropped.
    stage.skip_audit();
}

pub(crate) async fn limits_a_capacity_is_1_to_u32_max(stage: &Stage<'_>) {
    for capacity in [0, 1 << 32] {
        let config = BoundedConfig::new(capacity);
        let opened = stage.try_bounded("queue", &config).await.map(drop);
        refused(opened, &format!("capacity of {capacity}"));
    }
    let queue = stage.bounded(u32::MAX as usize).await;
    refused(queue.resize(count(1 << 32)).await, "capacity of 4294967296");
    assert_eq!(
        queue.capacity().await.expect("capacity").get(),
        u32::MAX as usize
    );
}
