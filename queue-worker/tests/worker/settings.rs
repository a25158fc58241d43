//! Settings that make no sense, and tasks that run elsewhere.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::environment::{Environment, HOUR, SECOND};

/// A change of a worker's settings.
type Set = fn(Worker<u64>) -> Worker<u64>;

/// A back-off with this share of jitter.
fn jittered(share: f64) -> Backoff {
    Backoff::exponential(SECOND).with_jitter(share)
}

#[tokio::test(start_paused = true)]
async fn invalid_settings_are_refused_before_anything_is_done() {
    let environment = Environment::holding(1).await;
    let bad: [(&str, Set); 12] = [
        ("holder's name of 0 bytes", |w| w.holder("")),
        ("holder's name of 129 bytes", |w| w.holder("h".repeat(129))),
        ("concurrency", |w| w.concurrency(0)),
        ("lease", |w| w.lease(Duration::from_millis(1))),
        ("lease", |w| w.lease(25 * HOUR)),
        ("timeout", |w| w.timeout(Duration::ZERO)),
        ("poll", |w| w.poll(Duration::ZERO)),
        // The timeout is longer than heartbeats may hold the message.
        ("max_hold", |w| w.timeout(60 * SECOND).max_hold(45 * SECOND)),
        ("jitter of 1.5", |w| w.retry(jittered(1.5))),
        ("jitter of -0.1", |w| w.retry(jittered(-0.1))),
        ("jitter of inf", |w| w.retry(jittered(f64::INFINITY))),
        ("jitter of NaN", |w| w.retry(jittered(f64::NAN))),
    ];
    for (word, set) in bad {
        let refused = set(environment.worker()).run(|_: u64, _| async {}).await;
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    for max in [0, 129] {
        let handler = |_: Vec<(u64, Context)>| async {};
        let refused = environment
            .worker()
            .run_batches_until(max, sleep(HOUR), handler);
        assert_eq!(refused.await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    let none = Workers::by_weight().run().await;
    assert_eq!(none.unwrap_err().kind(), ErrorKind::Invalid);
    let route = || environment.route();
    for starved in [route().weight(0), route().at_most(0)] {
        let workers = Workers::by_weight().add(starved, |_: u64, _| async {});
        assert_eq!(workers.run().await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(environment.spy.watched().calls(), 0);
}

#[test]
fn a_worker_outside_of_a_runtime_is_refused_with_the_way_out() {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let environment = runtime.unwrap().block_on(Environment::holding(1));
    let mut run = std::pin::pin!(environment.worker().run(|_: u64, _| async {}));
    let mut poller = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Err(error)) = run.as_mut().poll(&mut poller) else {
        panic!("it runs without a runtime");
    };
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("tokio runtime"), "{error}");
    assert_eq!(environment.spy.watched().calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn settings_at_their_limits_are_accepted() {
    let environment = Environment::holding(1).await;
    let edge: [Set; 6] = [
        |w| w.holder("h".repeat(128)),
        |w| w.lease(Duration::from_millis(10)),
        |w| w.lease(24 * HOUR),
        |w| w.timeout(45 * SECOND).max_hold(45 * SECOND),
        |w| w.retry(jittered(0.0)),
        |w| w.retry(jittered(1.0)),
    ];
    for set in edge {
        let worker = set(environment.worker()).run_until(async {}, |_: u64, _| async {});
        worker.await.unwrap();
    }
    let handler = |_: Vec<(u64, Context)>| async {};
    let batches = environment
        .worker()
        .run_batches_until(128, async {}, handler);
    batches.await.unwrap();
}

/// Runs tasks on tokio, and counts them.
#[derive(Debug, Default, Clone)]
struct Counting(Arc<AtomicU64>);

impl Spawn for Counting {
    fn spawn(&self, task: Task) -> Running {
        self.0.fetch_add(1, Ordering::Relaxed);
        TokioSpawn::default().spawn(task)
    }
}

#[tokio::test(start_paused = true)]
async fn every_handler_runs_on_the_given_spawner() {
    let environment = Environment::holding(25).await;
    let counting = Counting::default();
    let worker = environment.worker().concurrency(3).spawn(counting.clone());
    environment.work_off(worker, |_: u64, _| async {}).await;
    assert_eq!(counting.0.load(Ordering::Relaxed), 25);
}

/// Stops every task before it has begun.
#[derive(Debug)]
struct Stopping;

impl Spawn for Stopping {
    fn spawn(&self, task: Task) -> Running {
        drop(task);
        Running::new(|| {})
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_stopped_from_outside_is_a_failed_attempt() {
    let environment = Environment::holding(1).await;
    let worker = environment
        .worker()
        .spawn(Stopping)
        .retry(Backoff::fixed(SECOND));
    let report = environment.work_off(worker, |_: u64, _| async {}).await;
    assert_eq!((report.counts.retried, report.counts.died), (4, 1));
    assert!(report.counts.balance(), "{report:?}");
}
