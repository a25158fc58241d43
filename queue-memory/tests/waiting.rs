//! Waiting: wake-ups at once, on time, for one caller only, and without leaks.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Waker},
    time::Duration,
};

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

/// Lets all other tasks run until each waits, while time stands still.
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
    // The test drops all but the last before any of them runs.
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
    // The first one watches and is dropped; the second one gives up.
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
async fn nothing_is_left_behind() {
    let queue = delay().await;
    queue.schedule_one("a", LONG).await.unwrap();
    for _ in 0..100 {
        assert!(timeout(MS, queue.receive_one(SECOND, LONG)).await.is_err());
        assert!(queue.receive_one(SECOND, MS).await.unwrap().is_none());
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    // Only the handle keeps the queue.
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

/// The latest wake-up without a fault.
const SLACK: Duration = Duration::from_millis(20);

/// A consumer of one message; answers the time at which it came.
async fn consumer(queue: Arc<dyn DelayQueue>, start: Instant) -> Duration {
    queue.wait_for_arrival(LONG).await.unwrap();
    let leased = queue.lease(1.try_into().unwrap(), LONG).await.unwrap();
    assert_eq!(leased.deliveries.len(), 1);
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn who_is_told_and_does_nothing_keeps_nothing_from_others() {
    let queue = delay().await;
    let start = Instant::now();
    let mut idle = JoinSet::new();
    for _ in 0..3 {
        let queue = Arc::clone(&queue);
        idle.spawn(async move { queue.wait_for_arrival(LONG).await });
    }
    settle_down().await;
    let busy = tokio::spawn(consumer(Arc::clone(&queue), start));
    settle_down().await;
    queue.schedule_one("a", Duration::ZERO).await.unwrap();
    assert!(busy.await.unwrap() <= 3 * SLACK);
}

/// Begins to wait, and then never polls the future again.
fn held(queue: &Arc<dyn DelayQueue>) -> Pin<Box<dyn Future<Output = ()>>> {
    let queue = Arc::clone(queue);
    let mut wait = Box::pin(async move { queue.wait_for_arrival(LONG).await.unwrap() });
    let begun = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(begun.is_pending());
    wait
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_nobody_polls_keeps_nothing_from_others() {
    let queue = delay().await;
    let watcher = tokio::spawn(consumer(Arc::clone(&queue), Instant::now()));
    settle_down().await;
    let first = held(&queue);
    let second = held(&queue);
    let start = Instant::now();
    let mut consumers = JoinSet::new();
    for _ in 0..8 {
        consumers.spawn(consumer(Arc::clone(&queue), start));
    }
    settle_down().await;
    for _ in 0..9 {
        queue.schedule_one("a", Duration::ZERO).await.unwrap();
    }
    watcher.await.unwrap();
    while let Some(came) = consumers.join_next().await {
        assert!(came.unwrap() <= 3 * SLACK);
    }
    drop((first, second));
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_nobody_polls_costs_others_the_fall_back_at_most() {
    let queue = delay().await;
    let start = Instant::now();
    let watcher = held(&queue);
    let mut consumers = JoinSet::new();
    for _ in 0..2 {
        consumers.spawn(consumer(Arc::clone(&queue), start));
    }
    settle_down().await;
    queue.schedule_one("a", 50 * MS).await.unwrap();
    let came = consumers.join_next().await.unwrap().unwrap();
    assert!(came <= 5 * SECOND, "{came:?}");
    // From now on the queue knows that it does not look.
    let start = Instant::now();
    queue.schedule_one("b", 50 * MS).await.unwrap();
    consumers.join_next().await.unwrap().unwrap();
    assert!(start.elapsed() <= 50 * MS + SLACK);
    drop(watcher);
}

#[tokio::test(start_paused = true)]
async fn an_arrival_wakes_no_crowd() {
    let queue = delay().await;
    let woken = Arc::new(AtomicUsize::new(0));
    let mut waiters = JoinSet::new();
    for _ in 0..50 {
        let queue = Arc::clone(&queue);
        let woken = Arc::clone(&woken);
        waiters.spawn(async move {
            let mut wait = pin!(consumer(queue, Instant::now()));
            poll_fn(|cx| {
                woken.fetch_add(1, SeqCst);
                wait.as_mut().poll(cx)
            })
            .await
        });
    }
    settle_down().await;
    for n in 1..=10 {
        woken.store(0, SeqCst);
        queue.schedule_one("a", Duration::ZERO).await.unwrap();
        tokio::time::sleep(100 * MS).await;
        assert!(waiters.try_join_next().is_some());
        assert_eq!(waiters.len(), 50 - n);
        // The woken one, and the watcher, which looks once in its place.
        assert!(woken.load(SeqCst) <= 3, "{woken:?}");
    }
}
