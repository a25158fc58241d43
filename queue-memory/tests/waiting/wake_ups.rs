//! Every event that a caller waits for wakes it, at once or on time.

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, BoundedQueueExt, DelayQueueExt, Insert, LeasingExt, Offered, Overflow, Push,
    ReliableQueueExt, RotatingConfig, RotatingQueueExt, Settlement, TimeToLive,
};
use queue_memory::MemoryBackend;
use tokio::{task::JoinSet, time::Instant};

use super::{LONG, MS, SECOND, bounded, delay, name, reliable, settle_down};

#[tokio::test(start_paused = true)]
async fn a_due_time_wakes_to_the_millisecond() {
    let queue = delay().await;
    queue.schedule_one("a", 250 * MS).await.unwrap();
    let start = Instant::now();
    assert!(queue.receive_one(SECOND, LONG).await.unwrap().is_some());
    assert_eq!(start.elapsed(), 250 * MS);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_due_time_moves_the_alarm() {
    let queue = delay().await;
    let late = queue.schedule_one("late", SECOND).await.unwrap().id();
    let start = Instant::now();
    let mut consumers = JoinSet::new();
    for _ in 0..2 {
        let queue = Arc::clone(&queue);
        consumers.spawn(async move {
            let delivery = queue.receive_one(LONG, LONG).await.unwrap().unwrap();
            (delivery.body, start.elapsed())
        });
    }
    settle_down().await;
    queue.schedule_one("early", 10 * MS).await.unwrap();
    let first = consumers.join_next().await.unwrap().unwrap();
    assert_eq!(first, ("early".into(), 10 * MS));
    queue.reschedule(late, (10 * MS).into()).await.unwrap();
    let second = consumers.join_next().await.unwrap().unwrap();
    assert_eq!(second, ("late".into(), 20 * MS));
}

#[tokio::test(start_paused = true)]
async fn a_push_with_a_due_time_wakes_to_the_millisecond() {
    let queue = reliable().await;
    let late = Push::new("late").with_due(SECOND);
    queue.push_one(late).await.unwrap();
    let start = Instant::now();
    let consumer = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.receive_one(SECOND, LONG).await.unwrap().unwrap() }
    });
    settle_down().await;
    let early = Push::new("early").with_due(10 * MS);
    queue.push_one(early).await.unwrap();
    assert_eq!(consumer.await.unwrap().body, "early");
    assert_eq!(start.elapsed(), 10 * MS);
    let delivery = queue.receive_one(SECOND, LONG).await.unwrap().unwrap();
    assert_eq!(delivery.body, "late");
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_expired_lease_and_a_retry_delay_wake() {
    let queue = reliable().await;
    queue.push_one("a").await.unwrap();
    let start = Instant::now();
    queue.receive_one(30 * MS, LONG).await.unwrap().unwrap();
    let again = queue.receive_one(LONG, LONG).await.unwrap().unwrap();
    assert_eq!((again.attempt, start.elapsed()), (2, 30 * MS));
    let consumer = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.receive_one(SECOND, LONG).await.unwrap().unwrap() }
    });
    settle_down().await;
    queue
        .settle_one(Settlement::retry(again.receipt, 40 * MS))
        .await
        .unwrap();
    assert_eq!(consumer.await.unwrap().attempt, 3);
    assert_eq!(start.elapsed(), 70 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_wait_with_no_end_lasts_until_something_comes() {
    let queue = reliable().await;
    let waiter = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.wait_for_arrival(Duration::MAX).await }
    });
    tokio::time::sleep(LONG).await;
    assert!(!waiter.is_finished());
    queue.push_one("a").await.unwrap();
    let start = Instant::now();
    waiter.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn paused_queues_wake_nobody_until_they_are_resumed() {
    let queue = reliable().await;
    queue.pause().await.unwrap();
    queue.push_one("a").await.unwrap();
    let start = Instant::now();
    queue.wait_for_arrival(SECOND).await.unwrap();
    assert_eq!(start.elapsed(), SECOND);
    let waiter = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.receive_one(SECOND, LONG).await }
    });
    settle_down().await;
    queue.resume().await.unwrap();
    assert!(waiter.await.unwrap().unwrap().is_some());
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn leases_that_expire_on_their_last_attempt_let_a_producer_in() {
    let queue = bounded(2, 1).await;
    for body in ["first", "second"] {
        queue.offer_one(body, Overflow::Reject).await.unwrap();
    }
    let producer = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.offer_or_wait("next", LONG).await.unwrap() }
    });
    settle_down().await;
    let start = Instant::now();
    // Both expire, with no consumer left.
    assert_eq!(queue.receive(2, 50 * MS, LONG).await.unwrap().len(), 2);
    let offered = producer.await.unwrap();
    assert!(matches!(offered, Offered::Accepted { .. }));
    assert_eq!(start.elapsed(), 50 * MS);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_time_to_live_lets_a_producer_in() {
    let queue = bounded(1, 1).await;
    let brief = Push::new("brief").with_time_to_live(TimeToLive::drop_after(50 * MS));
    queue.offer_one(brief, Overflow::Reject).await.unwrap();
    let start = Instant::now();
    let offered = queue.offer_or_wait("next", LONG).await.unwrap();
    assert!(matches!(offered, Offered::Accepted { .. }));
    assert_eq!(start.elapsed(), 50 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_ring_wakes_at_its_pace_and_on_an_insertion() {
    let config = RotatingConfig::default().with_pace(100 * MS);
    let ring = MemoryBackend::new()
        .open_rotating(&name(), &config)
        .await
        .unwrap();
    ring.insert_one("a").await.unwrap();
    let start = Instant::now();
    for _ in 0..3 {
        assert_eq!(ring.visit(1, LONG).await.unwrap().len(), 1);
    }
    assert_eq!(start.elapsed(), 200 * MS);
    let visitor = tokio::spawn({
        let ring = Arc::clone(&ring);
        async move { ring.visit(1, LONG).await.unwrap() }
    });
    settle_down().await;
    ring.insert(&[Insert::new("b")]).await.unwrap();
    assert_eq!(visitor.await.unwrap()[0].body, "b");
    assert_eq!(start.elapsed(), 200 * MS);
}
