//! Callers that leave, or ignore their wake-ups, keep no message from others.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};

use queue_core::{DelayQueue, LeasingExt, Push};
use tokio::{
    runtime::Handle,
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{LONG, MS, SECOND, consumer, delay, reliable, settle_down};

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_passes_its_wakeup_on() {
    let queue = reliable().await;
    let mut waiters: Vec<_> = (0..3)
        .map(|_| {
            let queue = Arc::clone(&queue);
            tokio::spawn(async move { queue.wait_for_arrival(LONG).await })
        })
        .collect();
    settle_down().await;
    queue.push_one("a").await.unwrap().id().unwrap();
    // The test drops all but the last before any of them runs.
    let last = waiters.pop().unwrap();
    waiters.iter().for_each(|waiter| waiter.abort());
    let start = Instant::now();
    last.await.unwrap().unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn another_waiter_takes_over_the_watch_of_the_clock() {
    let queue = delay().await;
    queue
        .push_one(Push::from("a").with_due(SECOND))
        .await
        .unwrap()
        .id()
        .unwrap();
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
async fn nothing_is_left_behind() {
    let queue = delay().await;
    queue
        .push_one(Push::from("a").with_due(LONG))
        .await
        .unwrap()
        .id()
        .unwrap();
    for _ in 0..100 {
        assert!(timeout(MS, queue.receive_one(SECOND, LONG)).await.is_err());
        assert!(queue.receive_one(SECOND, MS).await.unwrap().is_none());
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    // Only the handle keeps the queue.
    assert_eq!(Arc::strong_count(&queue), 1);
}

/// The latest wake-up without a fault.
const SLACK: Duration = Duration::from_millis(20);

#[tokio::test(start_paused = true)]
async fn a_notified_caller_that_does_nothing_starves_no_other() {
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
    queue
        .push_one(Push::from("a").with_due(Duration::ZERO))
        .await
        .unwrap()
        .id()
        .unwrap();
    assert!(busy.await.unwrap() <= 3 * SLACK);
}

/// Starts to wait, and then never polls the future again.
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
        queue
            .push_one(Push::from("a").with_due(Duration::ZERO))
            .await
            .unwrap()
            .id()
            .unwrap();
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
    queue
        .push_one(Push::from("a").with_due(50 * MS))
        .await
        .unwrap()
        .id()
        .unwrap();
    let came = consumers.join_next().await.unwrap().unwrap();
    assert!(came <= 5 * SECOND, "{came:?}");
    // From now on the queue knows that this caller does not poll.
    let start = Instant::now();
    queue
        .push_one(Push::from("b").with_due(50 * MS))
        .await
        .unwrap()
        .id()
        .unwrap();
    consumers.join_next().await.unwrap().unwrap();
    assert!(start.elapsed() <= 50 * MS + SLACK);
    drop(watcher);
}
