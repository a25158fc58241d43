//! A backend that fails, and comes back.

use std::time::Duration;

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::{Fault, PAUSE},
};

/// Works through 50 messages while the backend has this fault from the 1st to the 61st second.
async fn through(fault: Fault) -> (Environment, Report, Health) {
    let environment = Environment::new().await;
    let worker = environment
        .worker()
        .concurrency(4)
        .lease(5 * SECOND)
        .seed(3);
    let health = worker.health();
    let watch = health.clone();
    let steps = async {
        sleep(SECOND).await;
        assert!(watch.is_healthy());
        environment.push(50).await;
        sleep(SECOND).await;
        environment.spy.watched().fault = Some(fault);
        sleep(60 * SECOND).await;
        assert!(!watch.is_healthy());
        let troubles = watch.troubles();
        assert!(troubles[0].failures > 3, "{troubles:?}");
        assert_eq!(troubles[0].error.kind(), ErrorKind::Unavailable);
        assert!(troubles[0].age() > 50 * SECOND);
        environment.spy.watched().fault = None;
        environment.empty().await;
        // Waiting is healthy again after one wait has succeeded.
        sleep(10 * SECOND).await;
        assert!(watch.is_healthy(), "{:?}", watch.troubles());
        assert!(watch.last_error().is_some());
    };
    let report = worker
        .run_until(steps, |_: u64, _| sleep(600 * Duration::from_millis(1)))
        .await
        .unwrap();
    assert!(report.counts.balance(), "{report:?}");
    assert_eq!(environment.spy.watched().dropped, 0);
    (environment, report, health)
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_is_down_ends_nothing_and_loses_nothing() {
    let (environment, report, _) = through(Fault::Down).await;
    let counters = environment.counters().await;
    assert_eq!(counters.acked, 50);
    assert!(report.counts.errors > 5);
    // A minute of tries, growing to five seconds.
    assert!(report.counts.errors < 60, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn an_ack_whose_reply_was_lost_is_repeated_and_perhaps_done() {
    let (environment, report, _) = through(Fault::Mute).await;
    let counters = environment.counters().await;
    // The few messages whose lease was lost with a reply came back, and none died for spent attempts.
    assert_eq!((counters.acked, counters.died), (50, 0));
    assert!(report.counts.unconfirmed > 0, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn where_only_leasing_fails_results_are_settled_and_tries_grow_rare() {
    let (environment, report, _) = through(Fault::NoLease).await;
    assert_eq!(environment.counters().await.acked, 50);
    assert_eq!(report.counts.unsettled, 0);
    assert!(report.counts.errors < 60, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn without_hints_there_is_the_timer() {
    let (environment, report, _) = through(Fault::NoHints).await;
    assert_eq!(environment.counters().await.acked, 50);
    assert!(report.counts.errors > 3, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_hints_health_says_so_and_polls_are_bounded() {
    let environment = Environment::new().await;
    environment.spy.watched().fault = Some(Fault::NoRight);
    let worker = environment.worker().seed(3);
    let health = worker.health();
    let steps = async {
        sleep(SECOND).await;
        assert!(!health.is_healthy());
        let troubles = health.troubles();
        assert_eq!(troubles.len(), 1, "{troubles:?}");
        assert_eq!(troubles[0].error.kind(), ErrorKind::Configuration);
        let before = environment.spy.watched().calls();
        sleep(HOUR).await;
        let looks = environment.spy.watched().calls() - before;
        assert!(
            (3600 / 5..=3600 / 2).contains(&looks),
            "{looks} polls in an hour"
        );
        // No message waits for longer than a poll.
        environment.push(1).await;
        sleep(6 * SECOND).await;
        assert_eq!(environment.counters().await.acked, 1);
        assert!(!health.is_healthy());
        environment.spy.watched().fault = None;
        sleep(12 * SECOND).await;
        assert!(health.is_healthy(), "{:?}", health.troubles());
    };
    worker.run_until(steps, |_: u64, _| async {}).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_pauses_as_long_as_the_backend_asks() {
    let environment = Environment::new().await;
    environment.spy.watched().fault = Some(Fault::Busy);
    let worker = environment.worker().seed(3);
    let health = worker.health();
    let steps = async {
        sleep(PAUSE - SECOND / 10).await;
        assert_eq!(health.counts().errors, 1, "one try, and a pause");
        sleep(20 * SECOND).await;
        let errors = health.counts().errors;
        assert!((4..=10).contains(&errors), "{errors} tries in 22 s");
    };
    worker.run_until(steps, |_: u64, _| async {}).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn heartbeats_are_tried_again_in_time_whatever_pause_the_backend_asks_for() {
    let environment = Environment::holding(1).await;
    let spy = environment.spy.clone();
    let busy = async {
        sleep(100 * MILLI).await;
        spy.watched().fault = Some(Fault::Busy);
        // From the heartbeat at 0.8 s until 0.8 s before the lease is over.
        sleep(1500 * MILLI).await;
        spy.watched().fault = None;
        environment.empty().await;
    };
    let report = environment
        .worker()
        .lease(2400 * MILLI)
        .run_until(busy, |_: u64, _| sleep(10 * SECOND))
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.lost), (1, 0));
    assert!(report.counts.errors > 3, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn heartbeats_that_failed_trouble_nobody_once_no_handler_needs_them() {
    let environment = Environment::holding(1).await;
    environment.spy.watched().fault = Some(Fault::NoExtend);
    let worker = environment.worker().lease(6 * SECOND);
    let health = worker.health();
    let steps = async {
        sleep(4 * SECOND).await;
        assert!(!health.is_healthy());
        environment.empty().await;
        sleep(SECOND).await;
        assert!(health.is_healthy(), "{:?}", health.troubles());
    };
    let report = worker
        .run_until(steps, |_: u64, _| sleep(5 * SECOND))
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.lost), (1, 0));
    assert!(report.counts.errors > 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_too_few_entries_is_a_failure() {
    let environment = Environment::holding(2).await;
    environment.spy.watched().fault = Some(Fault::ShortExtend);
    let worker = environment.worker().concurrency(2).lease(6 * SECOND);
    let health = worker.health();
    let steps = async {
        sleep(3 * SECOND).await;
        assert!(!health.is_healthy());
        environment.spy.watched().fault = None;
        environment.empty().await;
    };
    let report = worker
        .run_until(steps, |_: u64, _| sleep(20 * SECOND))
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.lost), (2, 0));
}
