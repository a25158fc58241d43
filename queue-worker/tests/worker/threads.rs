//! The worker on many threads in real time, as a service runs it; and on one thread, where two runs are
//! equal.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_worker::*;
use tokio::{runtime::Runtime, sync::Notify, time::Instant};

use crate::environment::{Environment, HOUR, MILLI, SECOND};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_run_in_parallel_and_each_message_is_done_once() {
    const MESSAGES: u64 = 5_000;
    let environment = Environment::holding(MESSAGES).await;
    let done = Arc::new(Mutex::new(BTreeMap::<u64, u32>::new()));
    let all = Arc::new(Notify::new());
    let run = || {
        let (done, all) = (Arc::clone(&done), Arc::clone(&all));
        let stop = Arc::clone(&all);
        let worker = environment.worker().concurrency(16).lease(60 * SECOND);
        worker.run_until(
            async move { stop.notified().await },
            move |number: u64, _| {
                let (done, all) = (Arc::clone(&done), Arc::clone(&all));
                async move {
                    if number.is_multiple_of(7) {
                        tokio::task::yield_now().await;
                    }
                    let mut done = done.lock().unwrap();
                    *done.entry(number).or_default() += 1;
                    if done.len() as u64 == MESSAGES {
                        all.notify_one();
                        all.notify_waiters();
                    }
                }
            },
        )
    };
    let (one, other) = tokio::time::timeout(60 * SECOND, async { tokio::join!(run(), run()) })
        .await
        .expect("it takes far less than a minute");
    let (one, other) = (one.unwrap().counts, other.unwrap().counts);
    assert!(one.balance() && other.balance(), "{one:?} {other:?}");
    assert_eq!(one.acked + other.acked, MESSAGES);
    assert!(done.lock().unwrap().values().all(|times| *times == 1));
    assert_eq!(environment.counters().await.acked, MESSAGES);
    assert_eq!(environment.spy.watched().dropped, 0);
}

/// The worker cannot cut off a handler that blocks its thread: the worker ends without it, and its lease
/// expires.
#[test]
fn a_handler_that_blocks_is_left_behind() {
    let elsewhere = Runtime::new().unwrap();
    let (unblock, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let here = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let spawn = TokioSpawn::on(elsewhere.handle().clone());
    here.block_on(async {
        let environment = Environment::holding(1).await;
        let started = Arc::new(Notify::new());
        let start = Arc::clone(&started);
        let report = environment
            .worker()
            .spawn(spawn)
            .drain(20 * MILLI)
            .cleanup(20 * MILLI)
            .run_until(async move { started.notified().await }, {
                move |_: u64, _| {
                    let (start, blocked) = (Arc::clone(&start), Arc::clone(&blocked));
                    async move {
                        start.notify_one();
                        let _ = blocked.lock().unwrap().recv();
                    }
                }
            })
            .await
            .unwrap();
        assert_eq!((report.counts.abandoned, report.counts.released), (1, 0));
        assert!(report.counts.balance() && !report.drained, "{report:?}");
        assert_eq!(environment.counters().await.depth.leased, 1);
    });
    unblock.send(()).unwrap();
}

/// A runtime of two threads, whose `block_on` has a third.
fn two_threads() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_time().build().unwrap()
}

#[test]
fn a_handler_that_reports_and_then_blocks_its_thread_keeps_its_lease() {
    two_threads().block_on(async {
        let environment = Environment::holding(1).await;
        let worker = environment.worker().lease(3 * SECOND);
        let report = environment.work_off(worker, |number: u64, cx: Context| async move {
            cx.progress(&number).unwrap();
            std::thread::sleep(4 * SECOND);
        });
        let report = tokio::time::timeout(60 * SECOND, report).await.unwrap();
        let Counts { acked, lost, .. } = report.counts;
        assert_eq!((acked, lost), (1, 0), "{report:?}");
        assert!(report.counts.extended >= 1, "{report:?}");
    });
}

#[test]
fn a_worker_ends_without_a_handler_that_blocks_a_thread_of_its_runtime() {
    let (unblock, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    two_threads().block_on(async {
        let environment = Environment::holding(1).await;
        let started = Arc::new(Notify::new());
        let start = Arc::clone(&started);
        let blocked = Arc::new(blocked);
        let worker = environment.worker().drain(20 * MILLI).cleanup(20 * MILLI);
        let run = worker.run_until(async move { started.notified().await }, move |_: u64, _| {
            let (start, blocked) = (Arc::clone(&start), Arc::clone(&blocked));
            async move {
                start.notify_one();
                let _ = blocked.lock().unwrap().recv();
            }
        });
        let report = tokio::time::timeout(60 * SECOND, run)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((report.counts.abandoned, report.drained), (1, false));
        unblock.send(()).unwrap();
    });
}

#[test]
fn a_worker_whose_future_is_dropped_starts_no_more_handlers() {
    two_threads().block_on(async {
        let environment = Environment::holding(1_000).await;
        let started = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let count = Arc::clone(&started);
        let run = environment.worker().run(move |_: u64, _| {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            tokio::time::sleep(5 * MILLI)
        });
        assert!(tokio::time::timeout(50 * MILLI, run).await.is_err());
        // The task of the worker ends soon; the last reference to the handler is its own.
        let gone = async {
            while Arc::strong_count(&started) > 1 {
                tokio::time::sleep(MILLI).await;
            }
        };
        tokio::time::timeout(60 * SECOND, gone).await.unwrap();
        let counters = environment.counters().await;
        assert!(
            counters.depth.ready > 0 && counters.depth.leased == 1,
            "{counters:?}"
        );
    });
}

/// A queue whose calls panic.
#[derive(Debug)]
struct Broken;

#[async_trait::async_trait]
impl call::Service for Broken {
    async fn call(&self, _: call::Call) -> Result<call::Answer> {
        panic!("a bug of a backend")
    }
}

#[test]
#[should_panic(expected = "a bug of a backend")]
fn a_panic_of_the_backend_goes_on_to_the_caller() {
    let queue = Arc::new(call::Front::of(Arc::new(Broken))) as Arc<dyn Leasing>;
    let worker = Worker::new(Consumer::<u64>::of(queue, Json));
    let _ = two_threads().block_on(worker.run(|_: u64, _| async {}));
}

/// The visible results of a run of mixed outcomes: each start with its time, and all counts.
async fn mixed() -> (Vec<(Duration, u64, u32)>, Counts, Counters) {
    let environment = Environment::holding(60).await;
    environment.spy.watched().latency = 3 * MILLI;
    let start = Instant::now();
    let log = Arc::new(Mutex::new(Vec::new()));
    let starts = Arc::clone(&log);
    let worker = environment
        .worker()
        .concurrency(5)
        .lease(2 * SECOND)
        .timeout(10 * SECOND)
        .seed(1);
    let handler = move |number: u64, cx: Context| {
        let mut starts = starts.lock().unwrap();
        // A deferred message comes with its old attempt.
        let first = starts.iter().all(|(_, seen, _)| *seen != number);
        starts.push((start.elapsed(), number, cx.attempt()));
        async move {
            tokio::time::sleep(Duration::from_millis(number * 37 % 300)).await;
            match (number % 10, cx.attempt()) {
                (3, 1..3) => Err(Failure::new("again")),
                (5, 1) if first => Err(Failure::defer("busy", SECOND)),
                (7, 1) => panic!("seven"),
                (9, 1) => {
                    tokio::time::sleep(HOUR).await;
                    Ok(())
                }
                _ => Ok(()),
            }
        }
    };
    let report = environment.work_off(worker, handler).await;
    let log = log.lock().unwrap().clone();
    (log, report.counts, environment.counters().await)
}

#[tokio::test(start_paused = true)]
async fn a_run_repeats() {
    let (first, again) = (mixed().await, mixed().await);
    assert_eq!(first, again);
    assert_eq!(first.2.acked, 60);
    assert!(first.1.balance(), "{:?}", first.1);
}
