//! Handlers that get many messages at once.

use std::sync::{Arc, Mutex};

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::environment::{Environment, HOUR, MILLI, SECOND};

#[tokio::test(start_paused = true)]
async fn each_message_is_settled_by_its_own_verdict() {
    let environment = Environment::new().await;
    let bodies = ["0", "1", "poison", "2", "3"].map(Push::new);
    environment.queue.push(&bodies).await.unwrap();
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    let report = environment
        .worker()
        .retry(Backoff::fixed(SECOND))
        .bury_undecodable()
        .run_batches_until(
            10,
            environment.empty(),
            move |batch: Vec<(u64, Context)>| {
                seen.lock().unwrap().push(batch.len());
                let verdict = |(number, cx): &(u64, Context)| match number {
                    1 if cx.attempt() == 1 => Err(Failure::new("again")),
                    2 => Err(Failure::bury("never")),
                    _ => Ok(()),
                };
                let verdicts: Vec<_> = batch.iter().map(verdict).collect();
                async { verdicts }
            },
        )
        .await
        .unwrap();
    assert_eq!(*sizes.lock().unwrap(), [4, 1]);
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.retried, counters.died), (3, 1, 2));
    assert_eq!(report.counts.undecodable, 1);
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_succeeds_may_have_verdicts_of_its_own() {
    let environment = Environment::holding(3).await;
    environment
        .worker()
        .run_batches_until(
            10,
            environment.empty(),
            |batch: Vec<(u64, Context)>| async move {
                let verdict = |(number, _): &(u64, Context)| match number {
                    1 => Err(Failure::bury("never")),
                    _ => Ok(()),
                };
                Ok::<_, Failure>(batch.iter().map(verdict).collect::<Vec<_>>())
            },
        )
        .await
        .unwrap();
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.died), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_takes_one_slot_and_has_no_more_than_its_size() {
    let environment = Environment::holding(100).await;
    let running = Arc::new(Mutex::new((0, 0, 0)));
    let count = Arc::clone(&running);
    environment
        .worker()
        .concurrency(2)
        .run_batches_until(
            10,
            environment.empty(),
            move |batch: Vec<(u64, Context)>| {
                let count = Arc::clone(&count);
                async move {
                    {
                        let mut count = count.lock().unwrap();
                        count.0 += 1;
                        count.1 = count.1.max(count.0);
                        count.2 = count.2.max(batch.len());
                    }
                    sleep(10 * MILLI).await;
                    count.lock().unwrap().0 -= 1;
                }
            },
        )
        .await
        .unwrap();
    assert_eq!(*running.lock().unwrap(), (0, 2, 10));
    assert_eq!(environment.counters().await.acked, 100);
    let watched = environment.spy.watched();
    assert_eq!(watched.largest, 20);
    assert!(watched.calls() <= 12, "{watched:?}");
}

#[tokio::test(start_paused = true)]
async fn a_broken_batch_is_a_failed_attempt_of_each() {
    let environment = Environment::new().await;
    let bodies = ["0", "poison", "1"].map(Push::new);
    environment.queue.push(&bodies).await.unwrap();
    let report = environment
        .worker()
        .timeout(5 * SECOND)
        .retry(Backoff::fixed(SECOND))
        .run_batches_until(
            3,
            environment.empty(),
            |batch: Vec<(u64, Context)>| async move {
                match batch[0].1.attempt() {
                    1 => panic!("the batch is broken"),
                    2 => sleep(HOUR).await,
                    _ => {}
                }
            },
        )
        .await
        .unwrap();
    let counters = environment.counters().await;
    // Two each of the others, and four of the one that never decodes.
    assert_eq!((counters.acked, counters.retried, counters.died), (2, 8, 1));
    assert_eq!((report.counts.panicked, report.counts.timed_out), (2, 2));
    assert_eq!(report.counts.undecodable, 5);
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn messages_without_a_verdict_failed() {
    let environment = Environment::holding(3).await;
    let report = environment
        .worker()
        .retry(Backoff::fixed(SECOND))
        .run_batches_until(3, environment.empty(), |_: Vec<(u64, Context)>| async {
            vec![Verdict::Done]
        })
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.retried), (3, 3));
}
