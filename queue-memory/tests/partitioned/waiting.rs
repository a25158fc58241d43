//! Waiting on all partitions at once.

use std::{sync::Arc, time::Duration};

use queue_core::{
    BoundedQueue, BoundedQueueExt, DelayQueueExt, Leasing, LeasingExt, Offer, Offered, Overflow,
    Partitioned, Push, ReliableQueueExt,
};
use tokio::time::Instant;

use crate::{HOUR, LEASE, bounded, count, delay, ms, reliable};

#[tokio::test(start_paused = true)]
async fn each_of_many_waiters_gets_its_message() {
    let jobs = reliable(3).await;
    let mut consumers = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let consumer = Arc::clone(&jobs);
        consumers.spawn(async move { consumer.receive_one(LEASE, HOUR).await });
    }
    tokio::time::sleep(ms(100)).await;
    let start = Instant::now();
    for n in 0..30 {
        let push = Push::new("x").with_header(Partitioned::KEY, (n % 7).to_string());
        jobs.push_one(push).await.unwrap();
    }
    while let Some(received) = consumers.join_next().await {
        received.unwrap().unwrap().expect("a message");
        assert!(start.elapsed() <= ms(20), "{:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_until_something_changes_is_the_least_of_all_partitions() {
    let queue = delay(3).await;
    for seconds in [50, 30, 40] {
        queue
            .schedule_one("x", Duration::from_secs(seconds))
            .await
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

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_leaves_the_message_to_another() {
    let jobs = reliable(3).await;
    for _ in 0..20 {
        let (one, other) = (Arc::clone(&jobs), Arc::clone(&jobs));
        let dropped = tokio::spawn(async move { one.wait_for_arrival(HOUR).await });
        tokio::task::yield_now().await;
        let waiting = tokio::spawn(async move { other.receive_one(LEASE, HOUR).await });
        tokio::time::sleep(ms(1)).await;
        let start = Instant::now();
        jobs.push_one("x").await.unwrap();
        // This caller is notified, and never polled again.
        dropped.abort();
        let received = waiting.await.unwrap().unwrap().expect("a message");
        assert!(start.elapsed() <= ms(20), "{:?}", start.elapsed());
        jobs.ack(received.receipt).await.unwrap();
    }
}

fn of_key(key: usize) -> Offer {
    Offer::new(Push::new("x").with_header(Partitioned::KEY, key.to_string()))
}

#[tokio::test(start_paused = true)]
async fn a_producer_without_a_key_gets_the_first_room_of_any_partition() {
    let log = bounded(3, 6).await;
    let batch: Vec<Offer> = (0..6).map(|n| Offer::new(n.to_string())).collect();
    log.offer(&batch, Overflow::Reject).await.unwrap();
    let held = log.lease(count(6), LEASE).await.unwrap().deliveries;
    for delivery in held {
        let producer = Arc::clone(&log);
        let waiting = tokio::spawn(async move { producer.offer_or_wait("y", HOUR).await });
        tokio::time::sleep(ms(100)).await;
        assert!(!waiting.is_finished(), "there is no room");
        let start = Instant::now();
        log.ack(delivery.receipt).await.unwrap();
        let offered = waiting.await.unwrap().unwrap();
        assert!(matches!(offered, Offered::Accepted { .. }), "{offered:?}");
        assert!(start.elapsed() <= ms(20), "{:?}", start.elapsed());
    }
}

/// The caller's partition is full, and the others have room: the caller waits, and does not spin.
#[tokio::test(start_paused = true)]
async fn a_producer_with_a_key_waits_for_the_room_of_its_partition() {
    let log = bounded(3, 6).await;
    while log.offer_one(of_key(1), Overflow::Reject).await.unwrap() != Offered::Full {}
    let held = log.lease(count(6), LEASE).await.unwrap().deliveries;
    assert_eq!(held.len(), 2);
    let start = Instant::now();
    let offered = log.offer_or_wait(of_key(1), ms(500)).await.unwrap();
    assert_eq!(offered, Offered::Full);
    assert!(start.elapsed() >= ms(500), "it waits for all its time");

    let producer = Arc::clone(&log);
    let waiting = tokio::spawn(async move { producer.offer_or_wait(of_key(1), HOUR).await });
    tokio::time::sleep(ms(100)).await;
    let start = Instant::now();
    log.ack(held[0].receipt).await.unwrap();
    let offered = waiting.await.unwrap().unwrap();
    assert!(matches!(offered, Offered::Accepted { .. }), "{offered:?}");
    assert!(start.elapsed() <= ms(20), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn producers_of_all_sorts_get_through_in_the_end() {
    let log: Arc<dyn BoundedQueue> = bounded(3, 4).await;
    let mut producers = tokio::task::JoinSet::new();
    for n in 0..60 {
        let log = Arc::clone(&log);
        let offer = if n % 3 == 0 {
            Offer::new("y")
        } else {
            of_key(n)
        };
        producers.spawn(async move { log.offer_or_wait(offer, HOUR).await });
    }
    let mut seen = 0;
    while seen < 60 {
        for delivery in log.receive(2, LEASE, HOUR).await.unwrap() {
            assert!(log.depth().await.unwrap().occupied() <= 4);
            log.ack(delivery.receipt).await.unwrap();
            seen += 1;
        }
    }
    while let Some(offered) = producers.join_next().await {
        let offered = offered.unwrap().unwrap();
        assert!(matches!(offered, Offered::Accepted { .. }), "{offered:?}");
    }
}
