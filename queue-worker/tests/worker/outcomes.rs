//! The outcome of a message, by its handler's answer.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::environment::{Environment, HOUR, MILLI, SECOND};

#[tokio::test(start_paused = true)]
async fn ok_is_acked() {
    let environment = Environment::holding(100).await;
    let worker = environment.worker().concurrency(4);
    let health = worker.health();
    let report = environment.work_off(worker, |_: u64, _| async {}).await;
    assert_eq!(environment.counters().await.acked, 100);
    assert_eq!(report.counts.acked, 100);
    assert!(report.counts.balance(), "{report:?}");
    assert!(report.drained);
    assert_eq!(health.phase(), Phase::Ended);
}

/// The run of a message whose first attempt failed.
struct FailedOnce {
    report: Report,
    counters: Counters,
    /// The time between the first attempt and the next.
    pause: Duration,
    attempts: Vec<u32>,
}

/// Runs one message through a handler that fails its first attempt with this failure.
async fn fail_once(failure: Failure, backoff: Backoff) -> FailedOnce {
    let environment = Environment::holding(1).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tries = Arc::clone(&seen);
    let worker = environment.worker().retry(backoff);
    let handler = move |_: u64, cx: Context| {
        let mut tries = tries.lock().unwrap();
        tries.push((cx.attempt(), Instant::now()));
        let first = tries.len() == 1;
        let result = if first { Err(failure.clone()) } else { Ok(()) };
        async move { result }
    };
    let report = environment.work_off(worker, handler).await;
    assert!(report.counts.balance(), "{report:?}");
    let counters = environment.counters().await;
    let seen = seen.lock().unwrap();
    FailedOnce {
        report,
        counters,
        pause: seen.last().unwrap().1 - seen[0].1,
        attempts: seen.iter().map(|(attempt, _)| *attempt).collect(),
    }
}

fn within(pause: Duration, expected: Duration) {
    let late = expected + 100 * MILLI;
    assert!(
        pause >= expected && pause < late,
        "{pause:?}, not {expected:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_comes_again_after_the_backoff() {
    let outcome = fail_once("no".into(), Backoff::fixed(7 * SECOND)).await;
    assert_eq!((outcome.counters.retried, outcome.counters.acked), (1, 1));
    assert_eq!(
        (outcome.report.counts.retried, outcome.report.counts.acked),
        (1, 1)
    );
    assert_eq!(outcome.attempts, [1, 2]);
    within(outcome.pause, 7 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_error_may_ask_to_be_tried_at_once_or_at_its_own_time() {
    let hour = Backoff::fixed(HOUR);
    let now = fail_once(Failure::retry_now("again"), hour.clone()).await;
    within(now.pause, Duration::ZERO);
    assert_eq!(now.attempts, [1, 2]);
    let later = fail_once(Failure::retry_after("later", 3 * SECOND), hour).await;
    within(later.pause, 3 * SECOND);
    assert_eq!(later.attempts, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn deferring_charges_no_attempt() {
    let busy = Failure::defer("busy", 3 * SECOND);
    let outcome = fail_once(busy, Backoff::fixed(HOUR)).await;
    within(outcome.pause, 3 * SECOND);
    assert_eq!(outcome.attempts, [1, 1]);
    assert_eq!(outcome.counters.deferred, 1);
    assert_eq!(outcome.report.counts.deferred, 1);
}

#[tokio::test(start_paused = true)]
async fn an_exponential_backoff_repeats_without_a_seed() {
    let backoff = Backoff::exponential(8 * SECOND);
    let first = fail_once("no".into(), backoff.clone()).await;
    let again = fail_once("no".into(), backoff).await;
    assert_eq!(first.pause, again.pause);
    assert!(first.pause >= 4 * SECOND && first.pause <= 8 * SECOND + 100 * MILLI);
}

/// The only dead letter.
async fn dead(environment: &Environment) -> DeadLetter {
    let page = environment
        .queue
        .dead_letters(Page::first(10))
        .await
        .unwrap();
    assert_eq!(page.entries.len(), 1);
    page.entries.into_iter().next().unwrap()
}

#[tokio::test(start_paused = true)]
async fn burying_ends_it_with_the_reason() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker();
    let handler = |_: u64, _| async { Err::<(), _>(Failure::bury("no such customer")) };
    let report = environment.work_off(worker, handler).await;
    let letter = dead(&environment).await;
    assert_eq!(letter.attempts, 1);
    assert_eq!(
        letter.reason,
        DeathReason::Buried("no such customer".to_owned())
    );
    assert_eq!(report.counts.died, 1);
}

#[tokio::test(start_paused = true)]
async fn how_often_is_tried_is_the_queues_to_say() {
    let config = ReliableConfig::default().with_max_attempts(3);
    let environment = Environment::with(&config).await;
    environment.push(1).await;
    let worker = environment.worker().retry(Backoff::fixed(SECOND));
    let handler = |_: u64, _| async { Err::<(), _>("never") };
    let report = environment.work_off(worker, handler).await;
    let letter = dead(&environment).await;
    assert_eq!((letter.attempts, letter.reason), (3, DeathReason::Retried));
    assert_eq!((report.counts.retried, report.counts.died), (2, 1));
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failed_attempt_and_hurts_nobody_else() {
    let environment = Environment::holding(20).await;
    let worker = environment
        .worker()
        .concurrency(4)
        .retry(Backoff::fixed(SECOND));
    let handler = |number: u64, cx: Context| {
        let first = cx.attempt() == 1;
        // The handler panics before it returns a future.
        assert!(!(number == 3 && first), "three");
        async move {
            tokio::task::yield_now().await;
            if number == 7 && first {
                std::panic::panic_any(7);
            }
        }
    };
    let report = environment.work_off(worker, handler).await;
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.retried), (20, 2));
    assert_eq!(report.counts.panicked, 2);
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_cut_off_as_a_failed_attempt() {
    let environment = Environment::holding(1).await;
    let start = Instant::now();
    let worker = environment
        .worker()
        .timeout(5 * SECOND)
        .retry(Backoff::fixed(Duration::ZERO));
    let handler = |_: u64, cx: Context| async move {
        assert_eq!(cx.cut_off(), Some((Instant::now() + 5 * SECOND).into_std()));
        if cx.attempt() == 1 {
            sleep(HOUR).await;
        }
    };
    let report = environment.work_off(worker, handler).await;
    within(start.elapsed(), 5 * SECOND);
    assert_eq!((report.counts.timed_out, report.counts.acked), (1, 1));
    assert_eq!(environment.counters().await.retried, 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_decode_is_a_failed_attempt() {
    let config = ReliableConfig::default().with_max_attempts(3);
    let environment = Environment::with(&config).await;
    let bodies = ["1", "not a number", "2"].map(Push::new);
    environment.queue.push(&bodies).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let numbers = Arc::clone(&seen);
    let failures = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&failures);
    let backoff = Backoff::custom(move |attempt, failure| {
        let mut sink = sink.lock().unwrap();
        sink.push((attempt, failure.reason().to_owned()));
        attempt * 7 * SECOND
    });
    let start = Instant::now();
    let worker = environment.worker().retry(backoff);
    let handler = move |number: u64, _| {
        numbers.lock().unwrap().push(number);
        async {}
    };
    let report = environment.work_off(worker, handler).await;
    assert_eq!(*seen.lock().unwrap(), [1, 2]);
    within(start.elapsed(), 7 * SECOND + 14 * SECOND);
    let failures = failures.lock().unwrap().clone();
    let attempts: Vec<u32> = failures.iter().map(|(attempt, _)| *attempt).collect();
    assert_eq!(attempts, [1, 2, 3]);
    for (_, reason) in failures {
        assert!(reason.starts_with("cannot decode: "), "{reason}");
        assert!(reason.contains("a u64"), "{reason}");
    }
    assert_eq!(dead(&environment).await.attempts, 3);
    let counts = report.counts;
    assert_eq!((counts.undecodable, counts.retried), (3, 2));
    assert_eq!((counts.acked, counts.died), (2, 1));
    assert!(counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_an_old_worker_cannot_decode_is_done_by_a_new_one() {
    let environment = Environment::new().await;
    environment
        .queue
        .push_one("\"seven\"")
        .await
        .unwrap()
        .id()
        .unwrap();
    let retried = environment.until(|counters| counters.retried == 1);
    let old = environment.worker().retry(Backoff::fixed(SECOND));
    let old = old.run_until(retried, |_: u64, _| async {}).await.unwrap();
    assert_eq!((old.counts.undecodable, old.counts.retried), (1, 1));
    let new = Worker::new(environment.spy.consumer::<String>());
    let new = new
        .run_until(
            environment.empty(),
            |text: String, cx: Context| async move {
                assert_eq!((&*text, cx.attempt()), ("seven", 2));
            },
        )
        .await
        .unwrap();
    assert_eq!((new.counts.acked, new.counts.panicked), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_decode_is_buried_at_once_where_that_is_asked_for() {
    let (buries, retries) = (Environment::new().await, Environment::new().await);
    for environment in [&buries, &retries] {
        let bodies = ["1", "not a number", "2"].map(Push::new);
        environment.queue.push(&bodies).await.unwrap();
    }
    let both = async {
        buries.empty().await;
        retries.empty().await;
    };
    let route = |environment: &Environment| environment.route().retry(Backoff::fixed(SECOND));
    let report = Workers::by_weight()
        .add(route(&buries).bury_undecodable(), |_: u64, _| async {})
        .add(route(&retries), |_: u64, _| async {})
        .run_until(both)
        .await
        .unwrap();
    let letter = dead(&buries).await;
    let DeathReason::Buried(reason) = letter.reason else {
        panic!("not buried");
    };
    assert_eq!(letter.attempts, 1);
    assert!(reason.starts_with("cannot decode: "), "{reason}");
    assert_eq!(dead(&retries).await.attempts, 5);
    assert_eq!((report.counts.undecodable, report.counts.retried), (6, 4));
    assert_eq!((report.counts.acked, report.counts.died), (4, 2));
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_backoff_gets_the_reason_of_a_failed_attempt() {
    let environment = Environment::holding(3).await;
    let failures = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&failures);
    let backoff = Backoff::custom(move |_, failure| {
        sink.lock().unwrap().push(failure.reason().to_owned());
        SECOND
    });
    let worker = environment.worker().timeout(1500 * MILLI).retry(backoff);
    let handler = |number: u64, cx: Context| async move {
        match (number, cx.attempt()) {
            (0, 1) => panic!("no paper"),
            (1, 1) => sleep(HOUR).await,
            (2, 1) => {
                let refused = Error::new(ErrorKind::Unavailable, "connection refused");
                let error = Error::new(ErrorKind::Unavailable, "cannot charge");
                return Err(Failure::new(error.with_source(refused)));
            }
            _ => {}
        }
        Ok(())
    };
    environment.work_off(worker, handler).await;
    assert_eq!(
        *failures.lock().unwrap(),
        [
            "panicked: no paper",
            "timed out after 1500 ms",
            "cannot charge: connection refused"
        ]
    );
    assert_eq!(environment.counters().await.acked, 3);
}

#[tokio::test(start_paused = true)]
async fn a_handler_learns_why_the_last_attempt_failed() {
    let environment = Environment::holding(1).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&seen);
    let worker = environment.worker();
    let handler = move |_: u64, cx: Context| {
        list.lock().unwrap().push(cx.failure().map(str::to_owned));
        async move {
            match cx.attempt() {
                1 => Err("the disk is full"),
                _ => Ok(()),
            }
        }
    };
    environment.work_off(worker, handler).await;
    let expected = [None, Some("the disk is full".to_owned())];
    assert_eq!(*seen.lock().unwrap(), expected);
}
