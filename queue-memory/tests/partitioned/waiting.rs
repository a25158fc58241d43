//! Waiting on all partitions at once.

use std::{sync::Arc, time::Duration};

use queue_core::{BoundedQueueExt, Leasing, LeasingExt, Partitioned, Push, Pushed};
use tokio::time::Instant;

use crate::{HOUR, LEASE, bounded, count, delay, ms};

#[tokio::test(start_paused = true)]
async fn the_time_until_something_changes_is_the_least_of_all_partitions() {
    let queue = delay(3).await;
    for seconds in [50, 30, 40] {
        queue
            .push_one(Push::from("x").with_due(Duration::from_secs(seconds)))
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    let least = Some(Duration::from_secs(30));
    assert_eq!(queue.lease(count(9), LEASE).await.unwrap().next, least);
    assert_eq!(queue.next_due().await.unwrap(), least);
    let start = Instant::now();
    for seconds in [30, 40, 50] {
        queue
            .receive_one(LEASE, HOUR)
            .await
            .unwrap()
            .expect("is due");
        let waited = start.elapsed().saturating_sub(Duration::from_secs(seconds));
        assert!(waited <= ms(20), "{waited:?} late");
    }
}

fn of_key(key: usize) -> Push {
    Push::new("x").with_header(Partitioned::KEY, key.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_producer_without_a_key_gets_the_first_room_of_any_partition() {
    let log = bounded(3, 6).await;
    let batch: Vec<Push> = (0..6).map(|n| Push::from(n.to_string())).collect();
    log.push(&batch).await.unwrap();
    let held = log.lease(count(6), LEASE).await.unwrap().deliveries;
    for delivery in held {
        let producer = Arc::clone(&log);
        let waiting = tokio::spawn(async move { producer.push_or_wait("y", HOUR).await });
        tokio::time::sleep(ms(100)).await;
        assert!(!waiting.is_finished(), "there is no room");
        let start = Instant::now();
        log.ack(delivery.receipt).await.unwrap();
        let offered = waiting.await.unwrap().unwrap();
        assert!(matches!(offered, Pushed::Accepted(_)), "{offered:?}");
        assert!(start.elapsed() <= ms(20), "{:?}", start.elapsed());
    }
}

/// The caller's partition is full, and the others have room: the caller waits, and does not spin.
#[tokio::test(start_paused = true)]
async fn a_producer_with_a_key_waits_for_the_room_of_its_partition() {
    let log = bounded(3, 6).await;
    while log.push_one(of_key(1)).await.unwrap() != Pushed::Full {}
    let held = log.lease(count(6), LEASE).await.unwrap().deliveries;
    assert_eq!(held.len(), 2);
    let start = Instant::now();
    let offered = log.push_or_wait(of_key(1), ms(500)).await.unwrap();
    assert_eq!(offered, Pushed::Full);
    assert!(start.elapsed() >= ms(500), "it waits for all its time");

    let producer = Arc::clone(&log);
    let waiting = tokio::spawn(async move { producer.push_or_wait(of_key(1), HOUR).await });
    tokio::time::sleep(ms(100)).await;
    let start = Instant::now();
    log.ack(held[0].receipt).await.unwrap();
    let offered = waiting.await.unwrap().unwrap();
    assert!(matches!(offered, Pushed::Accepted(_)), "{offered:?}");
    assert!(start.elapsed() <= ms(20), "{:?}", start.elapsed());
}
