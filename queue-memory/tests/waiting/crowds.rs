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

use queue_core::{DelayQueue, Leasing, Push};
use tokio::{task::JoinSet, time::Instant};

use super::{MS, consumer, delay, settle_down};

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
async fn a_change_wakes_one_waiter_for_each_message_at_its_due_time() {
    let (queue, woken) = (delay().await, Arc::default());
    let mut waiters = crowd(&queue, &woken).await;
    let (start, mut left) = (Instant::now(), 50);
    for (messages, delay) in [(1, 0), (1, 10), (3, 0), (1, 0), (1, 20), (7, 0), (3, 10)] {
        woken.store(0, SeqCst);
        let due = start.elapsed() + delay * MS;
        let pushes = vec![Push::from("a").with_due(delay * MS); messages];
        queue.push(&pushes).await.unwrap();
        tokio::time::sleep(100 * MS).await;
        for _ in 0..messages {
            assert_eq!(waiters.try_join_next().unwrap().unwrap(), due);
        }
        left -= messages;
        assert_eq!(waiters.len(), left);
        // The woken consumers, and the caller that watches the clock. It sets its timer to the due time, polls then, and
        // polls once in place of the others.
        assert!(woken.load(SeqCst) <= messages + 3, "{woken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_calls_wake_no_other_caller_before_the_woken_one_polls() {
    let (queue, woken) = (delay().await, Arc::default());
    let mut waiters = crowd(&queue, &woken).await;
    woken.store(0, SeqCst);
    queue.push(&["a".into()]).await.unwrap();
    // No waiter runs before these have ended.
    for _ in 0..20 {
        queue.depth().await.unwrap();
    }
    tokio::time::sleep(100 * MS).await;
    assert!(waiters.try_join_next().is_some());
    assert_eq!(waiters.len(), 49);
    assert!(woken.load(SeqCst) <= 3, "{woken:?}");
}
