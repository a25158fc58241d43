//! Leases of running handlers: kept alive, or lost.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::Fault,
};

#[tokio::test(start_paused = true)]
async fn heartbeats_hold_a_long_job_in_batches() {
    let environment = Environment::holding(8).await;
    let worker = environment.worker().concurrency(8).lease(3 * SECOND);
    let handler = |_: u64, cx: Context| async move {
        let end = Instant::now() + 60 * SECOND;
        while Instant::now() < end {
            sleep(100 * MILLI).await;
            // The lease is never near its end: about two thirds of it are left.
            assert!(cx.remaining() > 1900 * MILLI, "{:?}", cx.remaining());
            assert_eq!(cx.stop(), None);
        }
    };
    let report = environment.work_off(worker, handler).await;
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.expired), (8, 0));
    let watched = environment.spy.watched();
    assert_eq!(watched.extended, 8, "all in one call");
    assert!((55..=65).contains(&watched.extends), "{watched:?}");
    assert_eq!(report.counts.heartbeats, watched.extends);
    assert_eq!(report.counts.extended, 8 * watched.extends);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_is_not_held_up_by_a_slow_call() {
    let environment = Environment::holding(2).await;
    environment.spy.watched().latency = 2 * SECOND;
    let worker = environment.worker().concurrency(2).lease(6 * SECOND);
    let report = environment
        .work_off(worker, |_: u64, _| sleep(60 * SECOND))
        .await;
    assert_eq!((report.counts.acked, report.counts.lost), (2, 0));
    assert_eq!(environment.counters().await.expired, 0);
}

/// Runs a handler that takes a minute on a message whose lease cannot be extended, while another
/// worker takes over expired messages.
async fn lose(cleanup: Duration, stops: bool) -> (Environment, Report, u64) {
    let environment = Environment::holding(1).await;
    environment.spy.watched().fault = Some(Fault::NoExtend);
    let finished = Arc::new(Mutex::new(0));
    let count = Arc::clone(&finished);
    let other = async {
        // The second worker starts after the first has the message.
        sleep(SECOND).await;
        let taken = environment
            .numbers
            .receive(HOUR, HOUR)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(taken.attempt(), 2);
        sleep(90 * SECOND).await;
        // The first worker's answer changed nothing.
        taken.ack().await.unwrap();
    };
    let worker = environment.worker().lease(6 * SECOND).cleanup(cleanup);
    let report = worker
        .run_until(other, move |_: u64, cx: Context| {
            let count = Arc::clone(&count);
            async move {
                let start = Instant::now();
                if stops {
                    assert_eq!(cx.stopped().await, Stop::LeaseLost);
                    let after = start.elapsed();
                    assert!(after <= 6 * SECOND && after > 5900 * MILLI, "{after:?}");
                } else {
                    sleep(60 * SECOND).await;
                }
                *count.lock().unwrap() += 1;
            }
        })
        .await
        .unwrap();
    let finished = *finished.lock().unwrap();
    (environment, report, finished)
}

#[tokio::test(start_paused = true)]
async fn a_handler_with_a_lost_lease_is_notified_and_its_result_is_not_acked() {
    let (environment, report, finished) = lose(SECOND, true).await;
    assert_eq!(finished, 1);
    assert_eq!((report.counts.lost, report.counts.acked), (1, 0));
    let counters = environment.counters().await;
    assert_eq!((counters.expired, counters.acked), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_stop_is_cut_off_after_the_cleanup_time() {
    let (_, report, finished) = lose(SECOND, false).await;
    assert_eq!((finished, report.counts.lost), (0, 1));
    let (_, report, finished) = lose(HOUR, false).await;
    assert_eq!((finished, report.counts.lost), (1, 1));
}

/// While a heartbeat hangs, nothing else would wake the worker.
#[tokio::test(start_paused = true)]
async fn a_handler_is_cut_off_in_time_while_a_heartbeat_hangs() {
    let environment = Environment::holding(1).await;
    let spy = environment.spy.clone();
    let finished = Arc::new(Mutex::new(false));
    let handled = Arc::clone(&finished);
    let worker = environment.worker().lease(6 * SECOND).cleanup(SECOND);
    let handler = move |_: u64, _| {
        spy.watched().latency = HOUR;
        let handled = Arc::clone(&handled);
        async move {
            sleep(60 * SECOND).await;
            *handled.lock().unwrap() = true;
        }
    };
    let report = worker.run_until(sleep(90 * SECOND), handler).await;
    report.unwrap();
    assert!(!*finished.lock().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_handler_can_hold_its_lease_for_longer() {
    let environment = Environment::holding(1).await;
    let spy = environment.spy.clone();
    let worker = environment.worker().lease(3 * SECOND);
    let handler = move |_: u64, cx: Context| {
        let spy = spy.clone();
        async move {
            assert!(cx.extend(Duration::ZERO).await.is_err());
            assert!(cx.extend(48 * HOUR).await.is_err());
            cx.extend(100 * SECOND).await.unwrap();
            // From now on no heartbeat gets through.
            spy.watched().fault = Some(Fault::NoExtend);
            assert!(cx.remaining() > 99 * SECOND);
            sleep(90 * SECOND).await;
            assert_eq!(cx.stop(), None);
            let failed = cx.extend(SECOND).await.unwrap_err();
            assert_eq!(failed.kind(), ErrorKind::Unavailable);
        }
    };
    let report = environment.work_off(worker, handler).await;
    assert_eq!((report.counts.acked, report.counts.lost), (1, 0));
    assert_eq!(environment.counters().await.expired, 0);
}

#[tokio::test(start_paused = true)]
async fn a_context_that_outlives_its_job_extends_nothing() {
    let environment = Environment::holding(1).await;
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let worker = environment.worker();
    let handler = move |_: u64, cx: Context| {
        *keep.lock().unwrap() = Some(cx);
        async {}
    };
    environment.work_off(worker, handler).await;
    let cx = kept.lock().unwrap().take().unwrap();
    let error = cx.extend(SECOND).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LeaseLost);
}

#[tokio::test(start_paused = true)]
async fn a_message_is_held_no_longer_than_it_may_be() {
    let environment = Environment::holding(1).await;
    let start = Instant::now();
    let worker = environment
        .worker()
        .lease(3 * SECOND)
        .max_hold(20 * SECOND)
        .cleanup(Duration::ZERO);
    let handler = move |_: u64, cx: Context| async move {
        if cx.attempt() == 1 {
            sleep(HOUR).await;
        }
    };
    let report = environment.work_off(worker, handler).await;
    let took = start.elapsed();
    assert!(took >= 20 * SECOND && took < 24 * SECOND, "{took:?}");
    assert_eq!((report.counts.lost, report.counts.acked), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_context_shows_the_delivery() {
    let environment = Environment::new().await;
    let push = Push::new("5").with_header("tenant", "acme");
    let id = environment
        .queue
        .push_one(push)
        .await
        .unwrap()
        .id()
        .unwrap();
    let worker = environment.worker().named("jobs").lease(30 * SECOND);
    let handler = move |_: u64, cx: Context| async move {
        assert_eq!(cx.queue(), "jobs");
        assert_eq!((cx.id(), cx.attempt()), (id, 1));
        assert_eq!(cx.receipt(), Receipt::new(cx.id(), cx.token()));
        assert_eq!(cx.headers().get("tenant"), Some("acme"));
        assert!(cx.remaining() > 29 * SECOND && cx.remaining() <= 30 * SECOND);
        assert!(cx.deadline() <= (Instant::now() + 30 * SECOND).into_std());
        assert_eq!((cx.cut_off(), cx.stop()), (None, None));
    };
    environment.work_off(worker, handler).await;
    assert_eq!(environment.counters().await.acked, 1);
}

#[tokio::test(start_paused = true)]
async fn an_ack_that_comes_after_somebody_elses_is_counted_as_lost() {
    let environment = Environment::holding(1).await;
    let queue = Arc::clone(&environment.queue);
    let worker = environment.worker();
    let handler = move |_: u64, cx: Context| {
        let queue = Arc::clone(&queue);
        async move { queue.ack(cx.receipt()).await.unwrap() }
    };
    let report = environment.work_off(worker, handler).await;
    let counts = report.counts;
    assert_eq!((counts.lost, counts.unconfirmed, counts.acked), (1, 0, 0));
}
