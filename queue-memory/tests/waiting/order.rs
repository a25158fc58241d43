//! The order in which changes wake the callers that wait.

use std::sync::{Arc, Mutex};

use queue_core::{Leasing, LeasingExt, Result};
use tokio::task::JoinSet;

use super::{LONG, bounded, reliable, settle_down};

/// The order in which changes wake four callers: the longest waiting first. The very first caller watches
/// the clock for all, and is woken when no other is left.
const ORDER: [usize; 4] = [1, 2, 3, 0];

/// The numbers of the callers whose waits have ended.
type Woken = Arc<Mutex<Vec<usize>>>;

/// Starts four callers one after another, each of which waits once.
async fn four<F>(wait: impl Fn() -> F) -> (JoinSet<()>, Woken)
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (mut waiting, woken) = (JoinSet::new(), Woken::default());
    for number in 0..4 {
        let (wait, woken) = (wait(), Arc::clone(&woken));
        waiting.spawn(async move {
            wait.await.unwrap();
            woken.lock().unwrap().push(number);
        });
        settle_down().await;
    }
    assert!(woken.lock().unwrap().is_empty());
    (waiting, woken)
}

#[tokio::test(start_paused = true)]
async fn each_push_wakes_the_consumer_that_has_waited_longest() {
    let queue = reliable().await;
    let wait = || {
        let queue = Arc::clone(&queue);
        async move { queue.wait_for_arrival(LONG).await }
    };
    let (_waiting, woken) = four(wait).await;
    for changes in 1..=4 {
        queue.push_one("a").await.unwrap().id().unwrap();
        settle_down().await;
        assert_eq!(*woken.lock().unwrap(), ORDER[..changes]);
    }
}

#[tokio::test(start_paused = true)]
async fn each_ack_wakes_the_producer_that_has_waited_longest() {
    let queue = bounded(4, 1).await;
    for _ in 0..4 {
        queue.push_one("a").await.unwrap().id().unwrap();
    }
    let leased = queue.lease(4.try_into().unwrap(), LONG).await.unwrap();
    let wait = || {
        let queue = Arc::clone(&queue);
        async move { queue.wait_for_room(LONG).await }
    };
    let (_waiting, woken) = four(wait).await;
    for (acked, delivery) in leased.deliveries.iter().enumerate() {
        queue.ack(delivery.receipt).await.unwrap();
        settle_down().await;
        assert_eq!(*woken.lock().unwrap(), ORDER[..=acked]);
    }
}
