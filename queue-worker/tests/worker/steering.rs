//! A worker that its program steers while it runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use queue_core::ErrorKind;
use queue_worker::*;
use tokio::time::sleep;

use crate::environment::{Environment, HOUR, MILLI, SECOND};

#[tokio::test(start_paused = true)]
async fn a_paused_worker_leases_nothing_and_finishes_its_jobs() {
    let environment = Environment::holding(10).await;
    let worker = environment.worker().concurrency(2);
    let (control, health) = (worker.control(), worker.health());
    let steer = async {
        sleep(500 * MILLI).await;
        control.pause();
        assert!(control.is_paused());
        sleep(60 * SECOND).await;
        assert_eq!((health.phase(), health.is_healthy()), (Phase::Paused, true));
        assert_eq!((health.in_flight(), health.counts().acked), (0, 2));
        assert_eq!(environment.counters().await.depth.ready, 8);
        control.resume();
        environment.empty().await;
        assert_eq!(health.phase(), Phase::Working);
    };
    let report = worker
        .run_until(steer, |_: u64, _| sleep(SECOND))
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.released), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_be_paused_before_it_runs_and_drained_while_paused() {
    let environment = Environment::holding(3).await;
    let worker = environment.worker();
    let control = worker.control();
    control.pause();
    let drain = async {
        sleep(SECOND).await;
        control.drain();
    };
    let (report, ()) = tokio::join!(worker.run(|_: u64, _| async {}), drain);
    let report = report.unwrap();
    assert_eq!((report.counts.leased, report.drained), (0, true));
    assert_eq!(environment.counters().await.depth.ready, 3);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_to_a_paused_worker_goes_to_another() {
    let environment = Environment::new().await;
    let (idle, other) = (environment.worker(), environment.worker());
    let control = idle.control();
    let done = async {
        sleep(SECOND).await;
        control.pause();
        environment.push(5).await;
        environment.empty().await;
    };
    let shutdown = async { sleep(10 * SECOND).await };
    let handler = |_: u64, _| async {};
    let (idle, other, ()) = tokio::join!(
        idle.run_until(sleep(10 * SECOND), handler),
        other.run_until(shutdown, handler),
        done
    );
    assert_eq!(idle.unwrap().counts.started, 0);
    assert_eq!(other.unwrap().counts.acked, 5);
}

#[tokio::test(start_paused = true)]
async fn drain_ends_the_run_as_a_shutdown_does() {
    let environment = Environment::holding(4).await;
    let worker = environment.worker().concurrency(2);
    let control = worker.control();
    let drain = async {
        sleep(500 * MILLI).await;
        control.drain();
        control.resume();
    };
    let (report, ()) = tokio::join!(worker.run(|_: u64, _| sleep(SECOND)), drain);
    let report = report.unwrap();
    assert_eq!((report.counts.acked, report.drained), (2, true));
    assert!(report.shutdown < SECOND, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_slots_changes_while_it_runs() {
    let environment = Environment::holding(100).await;
    let worker = environment.worker().concurrency(2);
    let control = worker.control();
    let running = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&running);
    let handler = move |_: u64, _| {
        let running = Arc::clone(&running);
        async move {
            running.fetch_add(1, SeqCst);
            sleep(SECOND).await;
            running.fetch_sub(1, SeqCst);
        }
    };
    let steer = async {
        for (slots, wait) in [(2, 0), (8, 0), (1, 2)] {
            control.set_concurrency(slots).unwrap();
            sleep(wait * SECOND + 500 * MILLI).await;
            assert_eq!(now.load(SeqCst), slots);
            sleep(SECOND).await;
        }
        let error = control.set_concurrency(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("`pause`"), "{error}");
        control.set_concurrency(64).unwrap();
        environment.empty().await;
    };
    let report = worker.run_until(steer, handler).await.unwrap();
    assert_eq!((report.counts.acked, report.counts.retried), (100, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_waits_for_long_learns_when_the_shutdown_begins() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().drain(10 * SECOND);
    let handler = |_: u64, cx: Context| async move {
        assert!(!cx.is_shutting_down());
        tokio::select! {
            () = cx.shutting_down() => {
                assert!(cx.is_shutting_down());
                assert_eq!(cx.stop(), None, "it has the drain time");
                Err(Failure::defer("the program ends", Duration::ZERO))
            }
            () = sleep(HOUR) => Ok(()),
        }
    };
    let report = worker.run_until(sleep(SECOND), handler).await.unwrap();
    assert_eq!((report.counts.deferred, report.drained), (1, true));
    assert!(report.shutdown < SECOND, "{report:?}");

    let (cx, worker) = Context::for_test().build_with_worker();
    worker.begin_shutdown();
    cx.shutting_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_blocks_its_thread_is_counted() {
    let environment = Environment::holding(2).await;
    let worker = environment.worker().concurrency(2).lease(30 * SECOND);
    // The clock goes on while nothing else runs, as when a handler blocks the only thread.
    let handler = |number: u64, _| async move {
        if number == 0 {
            tokio::time::advance(26 * SECOND).await;
        }
        sleep(MILLI).await;
    };
    let report = environment.work_off(worker, handler).await;
    assert_eq!(
        (report.counts.acked, report.counts.held_up),
        (2, 1),
        "{:?}",
        report.counts
    );
    let usual = Environment::holding(2).await;
    let report = usual
        .work_off(usual.worker(), |_: u64, _| sleep(HOUR / 4))
        .await;
    assert_eq!(report.counts.held_up, 0);
}
