//! Waiting: at once, on time, for one only, and without leaving anything behind.

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, BoundedConfig, BoundedQueue, BoundedQueueExt, DelayConfig, DelayQueue, DelayQueueExt,
    Insert, Leasing, LeasingExt, Offered, Overflow, QueueName, ReliableConfig, ReliableQueue,
    ReliableQueueExt, RotatingConfig, RotatingQueueExt, Settlement,
};
use queue_memory::MemoryBackend;
use tokio::{
    runtime::Handle,
    task::{JoinSet, yield_now},
    time::{Instant, timeout},
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3600);

fn name() -> QueueName {
    QueueName::new("waiting").unwrap()
}

async fn reliable() -> Arc<dyn ReliableQueue> {
    let backend = MemoryBackend::new();
    backend
        .open_reliable(&name(), &ReliableConfig::default())
        .await
        .unwrap()
}

async fn delay() -> Arc<dyn DelayQueue> {
    let backend = MemoryBackend::new();
    backend
        .open_delay(&name(), &DelayConfig::default())
        .await
        .unwrap()
}

async fn bounded(capacity: usize, attempts: u32) -> Arc<dyn BoundedQueue> {
    let config = BoundedConfig::new(capacity).with_max_attempts(attempts);
    MemoryBackend::new()
        .open_bounded(&name(), &config)
        .await
        .unwrap()
}

/// Lets all other tasks run until each waits; time stands still.
async fn settle_down() {
    for _ in 0..100 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_push_wakes_at_once() {
    let queue = reliable().await;
    let consumer = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.receive_one(SECOND, LONG).await.unwrap().unwrap() }
    });
    settle_down().await;
    let start = Instant::now();
    queue.push_one("a").await.unwrap();
    assert_eq!(consumer.await.unwrap().body, "a");
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_push_between_the_look_and_the_wait_is_not_missed() {
    let queue = reliable().await;
    assert!(
        queue
            .lease(1.try_into().unwrap(), SECOND)
            .await
            .unwrap()
            .is_empty()
    );
    queue.push_one("a").await.unwrap();
    let start = Instant::now();
    queue.wait_for_arrival(LONG).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}

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
async fn of_those_who_wait_one_push_wakes_one_and_a_batch_wakes_as_many_as_it_feeds() {
    let queue = reliable().await;
    let mut consumers = JoinSet::new();
    for _ in 0..50 {
        let queue = Arc::clone(&queue);
        consumers.spawn(async move {
            queue.wait_for_arrival(LONG).await.unwrap();
            queue.lease(1.try_into().unwrap(), LONG).await.unwrap()
        });
    }
    settle_down().await;
    let mut woken = 0;
    for size in [1, 3, 7] {
        let pushes = vec!["x".into(); size];
        queue.push(&pushes).await.unwrap();
        settle_down().await;
        for _ in 0..size {
            let leased = consumers.try_join_next().unwrap().unwrap();
            assert_eq!(leased.deliveries.len(), 1);
        }
        woken += size;
        assert!(consumers.try_join_next().is_none());
    }
    assert_eq!(consumers.len(), 50 - woken);
}

#[tokio::test(start_paused = true)]
async fn one_due_time_wakes_one_of_many() {
    let queue = delay().await;
    let mut consumers = JoinSet::new();
    for _ in 0..50 {
        let queue = Arc::clone(&queue);
        consumers.spawn(async move {
            queue.wait_for_arrival(LONG).await.unwrap();
            queue.lease(1.try_into().unwrap(), LONG).await.unwrap()
        });
    }
    settle_down().await;
    for n in 1..=3 {
        let start = Instant::now();
        queue.schedule_one("x", 10 * MS).await.unwrap();
        let leased = consumers.join_next().await.unwrap().unwrap();
        assert_eq!(leased.deliveries.len(), 1);
        assert_eq!(start.elapsed(), 10 * MS);
        settle_down().await;
        assert_eq!(consumers.len(), 50 - n);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_passes_on_what_it_was_told() {
    let queue = reliable().await;
    let mut waiters: Vec<_> = (0..3)
        .map(|_| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.wait_for_arrival(LONG).await })
        })
        .collect();
    settle_down().await;
    queue.push_one("a").await.unwrap();
    // All but the last are dropped before any of them runs.
    let last = waiters.pop().unwrap();
    waiters.iter().for_each(|waiter| waiter.abort());
    let start = Instant::now();
    last.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn when_the_one_who_watches_the_clock_leaves_another_takes_its_place() {
    let queue = delay().await;
    queue.schedule_one("a", SECOND).await.unwrap();
    let start = Instant::now();
    // The first one watches; it is dropped, and the second one gives up.
    assert!(
        timeout(10 * MS, queue.wait_for_arrival(LONG))
            .await
            .is_err()
    );
    let first = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.wait_for_arrival(LONG).await }
    });
    settle_down().await;
    let second = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.wait_for_arrival(20 * MS).await }
    });
    settle_down().await;
    let third = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.receive_one(SECOND, LONG).await }
    });
    settle_down().await;
    first.abort();
    second.await.unwrap().unwrap();
    assert!(third.await.unwrap().unwrap().is_some());
    assert_eq!(start.elapsed(), SECOND);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_behind() {
    let queue = delay().await;
    queue.schedule_one("a", LONG).await.unwrap();
    for _ in 0..100 {
        assert!(timeout(MS, queue.receive_one(SECOND, LONG)).await.is_err());
        assert!(queue.receive_one(SECOND, MS).await.unwrap().is_none());
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    // The handle is the only one that keeps the queue.
    assert_eq!(Arc::strong_count(&queue), 1);
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
async fn whatever_makes_room_lets_a_producer_in() {
    let queue = bounded(1, 1).await;
    let producer = || {
        let queue = Arc::clone(&queue);
        tokio::spawn(async move { queue.offer_or_wait("next", LONG).await.unwrap() })
    };
    let offered = queue.offer_one("first", Overflow::Reject).await.unwrap();
    assert!(matches!(offered, Offered::Accepted { .. }));

    let acked = producer();
    settle_down().await;
    let start = Instant::now();
    let delivery = queue.receive_one(SECOND, LONG).await.unwrap().unwrap();
    queue.ack(delivery.receipt).await.unwrap();
    assert!(matches!(acked.await.unwrap(), Offered::Accepted { .. }));

    let purged = producer();
    settle_down().await;
    queue.purge_all().await.unwrap();
    assert!(matches!(purged.await.unwrap(), Offered::Accepted { .. }));

    let resized = producer();
    settle_down().await;
    queue.resize(2.try_into().unwrap()).await.unwrap();
    assert!(matches!(resized.await.unwrap(), Offered::Accepted { .. }));
    assert_eq!(start.elapsed(), Duration::ZERO);

    // Both leases expire on their last attempt, with no consumer left.
    let expired = producer();
    settle_down().await;
    assert_eq!(queue.receive(2, 50 * MS, LONG).await.unwrap().len(), 2);
    assert!(matches!(expired.await.unwrap(), Offered::Accepted { .. }));
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

/// Threads that race: a wake-up that is lost leaves a consumer asleep for an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_wake_up_is_lost_between_threads() {
    const MESSAGES: usize = 20_000;
    let queue = bounded(8, 5).await;
    let mut consumers = JoinSet::new();
    for _ in 0..4 {
        let queue = Arc::clone(&queue);
        consumers.spawn(async move {
            let mut acked = 0;
            loop {
                let delivery = queue.receive_one(LONG, LONG).await.unwrap().unwrap();
                queue.ack(delivery.receipt).await.unwrap();
                if delivery.body == "end" {
                    return acked;
                }
                acked += 1;
            }
        });
    }
    let mut producers = JoinSet::new();
    for _ in 0..4 {
        let queue = Arc::clone(&queue);
        producers.spawn(async move {
            for n in 0..MESSAGES / 4 {
                queue.offer_or_wait("x", LONG).await.unwrap();
                if n % 64 == 0 {
                    yield_now().await;
                }
            }
        });
    }
    let work = async {
        producers.join_all().await;
        for _ in 0..4 {
            queue.offer_or_wait("end", LONG).await.unwrap();
        }
        consumers.join_all().await.into_iter().sum::<usize>()
    };
    let acked = timeout(Duration::from_secs(120), work).await;
    assert_eq!(acked.expect("a wake-up was lost"), MESSAGES);
}
