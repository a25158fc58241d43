//! A change wakes one of many callers for each message that it adds.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use queue_core::{DelayQueue, Leasing, LeasingExt, Push};
use tokio::{task::JoinSet, time::Instant};

use super::{LONG, MS, consumer, delay, reliable, settle_down};

#[tokio::test(start_paused = true)]
async fn a_push_wakes_one_waiter_and_a_batch_one_for_each_message() {
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
        queue
            .push_one(Push::from("x").with_due(10 * MS))
            .await
            .unwrap()
            .id()
            .unwrap();
        let leased = consumers.join_next().await.unwrap().unwrap();
        assert_eq!(leased.deliveries.len(), 1);
        assert_eq!(start.elapsed(), 10 * MS);
        settle_down().await;
        assert_eq!(consumers.len(), 50 - n);
    }
}

/// 50 consumers that wait, and a count of their wake-ups.
async fn crowd(queue: &Arc<dyn DelayQueue>, woken: &Arc<AtomicUsize>) -> JoinSet<Duration> {
    let mut waiters = JoinSet::new();
    for _ in 0..50 {
        let queue = Arc::clone(queue);
        let woken = Arc::clone(woken);
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
    waiters
}

#[tokio::test(start_paused = true)]
async fn an_arrival_wakes_no_crowd() {
    let (queue, woken) = (delay().await, Arc::default());
    let mut waiters = crowd(&queue, &woken).await;
    for n in 1..=10 {
        woken.store(0, SeqCst);
        queue
            .push_one(Push::from("a").with_due(Duration::ZERO))
            .await
            .unwrap()
            .id()
            .unwrap();
        tokio::time::sleep(100 * MS).await;
        assert!(waiters.try_join_next().is_some());
        assert_eq!(waiters.len(), 50 - n);
        // The woken consumer, and the caller that watches the clock, which polls once in its place.
        assert!(woken.load(SeqCst) <= 3, "{woken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_calls_wake_no_other_caller_before_the_woken_one_polls() {
    let (queue, woken) = (delay().await, Arc::default());
    let mut waiters = crowd(&queue, &woken).await;
    woken.store(0, SeqCst);
    queue
        .push_one(Push::from("a").with_due(Duration::ZERO))
        .await
        .unwrap()
        .id()
        .unwrap();
    // No waiter runs before these have ended.
    for _ in 0..20 {
        queue.depth().await.unwrap();
    }
    tokio::time::sleep(100 * MS).await;
    assert!(waiters.try_join_next().is_some());
    assert_eq!(waiters.len(), 49);
    assert!(woken.load(SeqCst) <= 3, "{woken:?}");
}
