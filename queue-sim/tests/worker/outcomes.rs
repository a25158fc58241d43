//! What becomes of a message, by what its handler says.

use std::time::Duration;

use queue_core::{worker::*, *};

use crate::ground::{Ground, SECOND};

#[tokio::test(start_paused = true)]
async fn ok_is_acked() {
    let ground = Ground::holding(100).await;
    let worker = ground.worker().concurrency(4);
    let health = worker.health();
    let report = worker
        .run_until(ground.empty(), |_: u64, _| async {})
        .await
        .unwrap();
    assert_eq!(ground.counters().await.acked, 100);
    assert_eq!(report.counts.acked, 100);
    assert!(report.counts.balance(), "{report:?}");
    assert!(report.drained);
    assert_eq!(health.phase(), Phase::Ended);
}

/// Runs one message through a handler that fails its first attempt so.
async fn fail_once(failure: Failure, backoff: Backoff) -> (Report, Counters, Duration, Vec<u32>) {
    let ground = Ground::holding(1).await;
    let attempts = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&attempts);
    let start = tokio::time::Instant::now();
    let report = ground
        .worker()
        .retry(backoff)
        .run_until(ground.empty(), move |_: u64, cx: Context| {
            let mut seen = seen.lock().unwrap();
            seen.push(cx.attempt());
            let result = if seen.len() == 1 {
                Err(failure.clone())
            } else {
                Ok(())
            };
            async move { result }
        })
        .await
        .unwrap();
    let attempts = attempts.lock().unwrap().clone();
    (report, ground.counters().await, start.elapsed(), attempts)
}

#[tokio::test(start_paused = true)]
async fn an_error_comes_again_after_the_backoff() {
    let backoff = Backoff::fixed(7 * SECOND);
    let (report, counters, took, attempts) = fail_once("no".into(), backoff).await;
    assert_eq!((counters.retried, counters.acked), (1, 1));
    assert_eq!((report.counts.retried, report.counts.acked), (1, 1));
    assert_eq!(attempts, [1, 2]);
    assert!(took >= 7 * SECOND && took < 8 * SECOND, "{took:?}");
}
