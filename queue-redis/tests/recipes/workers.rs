//! The worker runs unchanged on recipes that keep what is held.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_redis::recipes::*;
use queue_worker::{Backoff, Worker};
use tokio::{sync::Notify, time::timeout};

use crate::{
    ground::{Ground, SOON},
    until::PATIENCE,
};

const MESSAGES: u32 = 200;

/// Handles all messages; every fiftieth succeeds at its second attempt.
async fn works_through(ground: &Ground, recipe: impl Recipe, counts_attempts: bool) {
    let queue = ground.open(recipe, "q").await;
    for n in 0..MESSAGES {
        let body = Push::new(n.to_string());
        queue.put(&[body]).await.expect("it pushes");
    }
    let tries: Arc<Mutex<BTreeMap<u32, u32>>> = Arc::default();
    let last = Arc::new(Notify::new());
    let shutdown = {
        let last = Arc::clone(&last);
        async move {
            timeout(2 * PATIENCE, last.notified())
                .await
                .expect("all are handled");
        }
    };
    let handler = {
        let tries = Arc::clone(&tries);
        move |n: u32, cx: queue_worker::Context| {
            let tried = {
                let mut tries = tries.lock().expect("no panic");
                let tried = tries.entry(n).or_default();
                *tried += 1;
                *tried
            };
            assert_eq!(cx.attempt(), if counts_attempts { tried } else { 1 });
            let fails = n % 50 == 7 && tried == 1;
            let tries = tries.lock().expect("no panic").values().sum::<u32>();
            if tries == MESSAGES + MESSAGES / 50 {
                last.notify_one();
            }
            async move { if fails { Err("again") } else { Ok(()) } }
        }
    };
    let consumer = Consumer::<u32>::new(queue.leasing().expect("it leases"));
    let worker = Worker::new(consumer)
        .concurrency(8)
        .retry(Backoff::fixed(SOON));
    let report = worker
        .run_until(shutdown, handler)
        .await
        .expect("good settings");
    let tries = tries.lock().expect("no panic");
    assert!(
        tries
            .iter()
            .all(|(n, tries)| *tries == 1 + u32::from(n % 50 == 7)),
        "{tries:?}"
    );
    assert_eq!(tries.len(), MESSAGES as usize);
    let counts = report.counts;
    assert_eq!((counts.acked, counts.retried), (200, 4), "{counts:?}");
    assert!(report.drained && counts.balance(), "{report:?}");
    assert_eq!((counts.errors, counts.lost), (0, 0), "{counts:?}");
    ground.holds(&[]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_runs_on_a_private_backup() {
    let ground = Ground::in_real_time().await;
    works_through(&ground, PrivateBackup::of_client("w7"), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_runs_on_a_shared_backup() {
    let ground = Ground::in_real_time().await;
    let recipe = SharedBackup::default()
        .poll(SOON)
        .with_checker(Duration::from_secs(600));
    works_through(&ground, recipe, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_runs_on_a_sorted_set_with_processing() {
    let ground = Ground::in_real_time().await;
    let recipe = ZsetJson::default().with_processing().poll(SOON);
    works_through(&ground, recipe, true).await;
}
