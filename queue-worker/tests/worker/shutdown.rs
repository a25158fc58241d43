//! The end of a worker: in time, in a hurry, and by a crash.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_worker::*;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::Fault,
};

#[tokio::test(start_paused = true)]
async fn handlers_finish_and_nothing_more_is_leased() {
    let environment = Environment::holding(20).await;
    let report = environment
        .worker()
        .concurrency(4)
        .drain(10 * SECOND)
        .run_until(sleep(SECOND), |_: u64, _| sleep(5 * SECOND))
        .await
        .unwrap();
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.depth.ready), (4, 16));
    assert_eq!((counters.released, counters.expired), (0, 0));
    assert!(report.drained && report.counts.balance(), "{report:?}");
    assert!((4 * SECOND..5 * SECOND).contains(&report.shutdown));
}

#[tokio::test(start_paused = true)]
async fn unfinished_handlers_are_stopped_cut_off_and_their_messages_released() {
    let environment = Environment::holding(20).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let news = Arc::clone(&seen);
    let report = environment
        .worker()
        .concurrency(4)
        .drain(10 * SECOND)
        .cleanup(2 * SECOND)
        .run_until(sleep(SECOND), move |number: u64, cx: Context| {
            let news = Arc::clone(&news);
            async move {
                match number {
                    // Ends in time.
                    0 => sleep(5 * SECOND).await,
                    // Waits for the stop, and gives up.
                    1 => {
                        let stop = cx.stopped().await;
                        news.lock().unwrap().push(stop);
                        return Err("told to stop");
                    }
                    // Ignores the stop, but ends in time for the cleanup.
                    2 => sleep(12 * SECOND).await,
                    // Ignores the stop.
                    _ => sleep(HOUR).await,
                }
                Ok(())
            }
        })
        .await
        .unwrap();
    assert_eq!(*seen.lock().unwrap(), [Stop::Shutdown]);
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.released), (2, 2));
    assert_eq!((counters.retried, counters.expired), (0, 0));
    assert_eq!(counters.depth.ready, 18);
    assert!(!report.drained && report.counts.balance(), "{report:?}");
    assert!((12 * SECOND..13 * SECOND).contains(&report.shutdown));
    // No attempt was spent.
    let again = environment
        .numbers
        .receive_batch(18, SECOND, SECOND)
        .await
        .unwrap();
    assert!(again.iter().all(|delivery| delivery.attempt() == 1));
}

#[tokio::test(start_paused = true)]
async fn a_lease_in_flight_is_awaited_and_what_it_brings_released() {
    let environment = Environment::holding(5).await;
    environment.spy.watched().latency = 2 * SECOND;
    let report = environment
        .worker()
        .concurrency(4)
        .run_until(sleep(500 * MILLI), |_: u64, _| async {})
        .await
        .unwrap();
    assert_eq!(environment.spy.watched().dropped, 0);
    assert_eq!((report.counts.leased, report.counts.started), (4, 0));
    assert_eq!(report.counts.released, 4);
    let counters = environment.counters().await;
    assert_eq!((counters.depth.ready, counters.released), (5, 4));
    let again = environment
        .numbers
        .receive_batch(5, SECOND, SECOND)
        .await
        .unwrap();
    let order: Vec<u64> = again.iter().map(|d| *d.body().unwrap()).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
    assert!(again.iter().all(|delivery| delivery.attempt() == 1));
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_ends_at_once() {
    let environment = Environment::new().await;
    let report = environment
        .worker()
        .run_until(sleep(100 * SECOND), |_: u64, _| async {})
        .await
        .unwrap();
    assert_eq!(report.shutdown, Duration::ZERO);
    // The worker polls once at first, and then on the timer.
    assert!((20..=22).contains(&report.counts.calls), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_backend_is_gone_ends_all_the_same() {
    let environment = Environment::holding(4).await;
    let spy = environment.spy.clone();
    let shutdown = async move {
        sleep(SECOND).await;
        spy.watched().fault = Some(Fault::Down);
    };
    let report = environment
        .worker()
        .concurrency(4)
        .drain(10 * SECOND)
        .run_until(shutdown, |_: u64, _| sleep(2 * SECOND))
        .await
        .unwrap();
    assert_eq!(report.counts.unsettled, 4);
    assert!(!report.drained, "four messages will come again");
    assert!(report.counts.balance(), "{report:?}");
    assert!(report.shutdown <= 12 * SECOND, "{report:?}");
}

/// Shuts down at the first second, with handlers that take the time `handlers`; the backend has the fault
/// between the two times.
async fn drain(handlers: Duration, fault: Fault, from: Duration, to: Duration) -> Report {
    let environment = Environment::holding(4).await;
    let spy = environment.spy.clone();
    let failing = async move {
        sleep(from).await;
        spy.watched().fault = Some(fault);
        sleep(to - from).await;
        spy.watched().fault = None;
    };
    let worker = environment.worker().concurrency(4).drain(4 * SECOND);
    let worker = worker.cleanup(4 * SECOND).seed(5);
    let (report, ()) = tokio::join!(
        worker.run_until(sleep(SECOND), move |_: u64, _| sleep(handlers)),
        failing
    );
    let report = report.unwrap();
    assert!(report.counts.balance(), "{report:?}");
    assert_eq!(environment.counters().await.acked, 4, "{report:?}");
    report
}

#[tokio::test(start_paused = true)]
async fn a_result_that_could_not_be_settled_at_first_is_settled_later_in_the_drain() {
    let report = drain(2 * SECOND, Fault::Down, SECOND, 2500 * MILLI).await;
    assert_eq!((report.counts.acked, report.counts.unsettled), (4, 0));
    assert!(report.counts.errors > 0 && report.drained, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_settled_after_the_drain_is_drained_if_its_handler_was_in_time() {
    let report = drain(2 * SECOND, Fault::Down, SECOND, 5500 * MILLI).await;
    assert!(report.drained && report.counts.acked == 4, "{report:?}");
    // These handlers end on their own, but after the drain; one is settled during the cleanup, the other
    // after it.
    let report = drain(6 * SECOND, Fault::Down, 20 * SECOND, 21 * SECOND).await;
    assert!(!report.drained && report.counts.acked == 4, "{report:?}");
    let report = drain(6 * SECOND, Fault::Down, 5 * SECOND, 9100 * MILLI).await;
    assert!(!report.drained && report.counts.acked == 4, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_confirmed_is_not_drained() {
    let report = drain(2 * SECOND, Fault::Mute, SECOND, 2500 * MILLI).await;
    assert_eq!((report.counts.acked, report.counts.unconfirmed), (0, 4));
    assert!(!report.drained, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_the_shutdown_does_not_spoil_its_drain() {
    let environment = Environment::holding(1).await;
    environment.spy.watched().fault = Some(Fault::NoExtend);
    let spy = environment.spy.clone();
    let shutdown = async {
        sleep(20 * SECOND).await;
        assert_eq!(environment.counters().await.expired, 1);
        spy.watched().fault = None;
        environment.empty().await;
    };
    let report = environment
        .worker()
        .lease(6 * SECOND)
        .run_until(shutdown, |_: u64, cx: Context| async move {
            if cx.attempt() == 1 {
                sleep(HOUR).await;
            }
        })
        .await
        .unwrap();
    assert_eq!((report.counts.lost, report.counts.acked), (1, 1));
    assert!(report.drained, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn dropping_a_running_worker_is_a_crash_that_others_survive() {
    let environment = Environment::holding(4).await;
    let ran_on = Arc::new(Mutex::new(false));
    let flag = Arc::clone(&ran_on);
    let worker = environment.worker().concurrency(4).lease(6 * SECOND);
    let running = worker.run(move |_: u64, _| {
        let flag = Arc::clone(&flag);
        async move {
            sleep(20 * SECOND).await;
            *flag.lock().unwrap() = true;
        }
    });
    assert!(timeout(9 * SECOND, running).await.is_err());
    let crash = Instant::now();
    let worker = environment.worker().concurrency(4);
    let handler = |_: u64, cx: Context| async move {
        assert_eq!(cx.attempt(), 2);
    };
    let report = environment.work_off(worker, handler).await;
    assert!(crash.elapsed() <= 7 * SECOND, "{:?}", crash.elapsed());
    assert_eq!(report.counts.acked, 4);
    sleep(60 * SECOND).await;
    assert!(!*ran_on.lock().unwrap(), "its handlers were cut off");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_stopped_handler_may_still_bury_its_message() {
    let environment = Environment::holding(3).await;
    let worker = environment.worker().concurrency(3).drain(SECOND);
    let report = worker.cleanup(10 * SECOND).run_until(
        environment.until(|counters| counters.depth.leased == 3),
        |number: u64, cx: Context| async move {
            assert_eq!(cx.stopped().await, Stop::Shutdown);
            match number {
                0 => Err(Failure::bury("no such customer")),
                1 => Err(Failure::new("told to stop")),
                _ => Ok(()),
            }
        },
    );
    let counts = report.await.unwrap().counts;
    assert_eq!((counts.died, counts.released, counts.acked), (1, 1, 1));
    let page = environment
        .queue
        .dead_letters(Page::first(9))
        .await
        .unwrap();
    let reasons: Vec<_> = page.entries.into_iter().map(|dead| dead.reason).collect();
    assert_eq!(
        reasons,
        [DeathReason::Buried("no such customer".to_owned())]
    );
}

/// Cuts off three handlers with this cleanup time, while the backend is `down` for that time from then on.
/// Returns the counts.
async fn cut_off(cleanup: Duration, down: Duration) -> Counts {
    let environment = Environment::holding(3).await;
    let spy = environment.spy.clone();
    let worker = environment.worker().concurrency(3).drain(SECOND).seed(5);
    let run = worker
        .cleanup(cleanup)
        .run_until(sleep(SECOND), |_: u64, _| sleep(HOUR));
    let outage = async {
        sleep(2 * SECOND - MILLI).await;
        spy.watched().fault = (!down.is_zero()).then_some(Fault::Down);
        sleep(MILLI + cleanup + down).await;
        spy.watched().fault = None;
    };
    let (report, ()) = tokio::join!(run, outage);
    let counts = report.unwrap().counts;
    assert!(counts.balance(), "{counts:?}");
    counts
}

#[tokio::test(start_paused = true)]
pub(crate) async fn the_last_results_are_settled_however_short_the_cleanup_is() {
    for cleanup in [Duration::ZERO, MILLI, 100 * MILLI] {
        let counts = cut_off(cleanup, Duration::ZERO).await;
        assert_eq!((counts.released, counts.abandoned), (3, 0), "{cleanup:?}");
        let counts = cut_off(cleanup, 500 * MILLI).await;
        assert_eq!((counts.released, counts.unsettled), (3, 0), "{cleanup:?}");
    }
}
