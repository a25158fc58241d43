//! User code that panics: a rule, a codec, a handler under a limit.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use queue_core::Bytes;
use queue_core::*;
use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::environment::{Environment, HOUR, MILLI, SECOND};

#[tokio::test(start_paused = true)]
async fn a_backoff_that_panics_is_logged_and_replaced_by_the_default() {
    let environment = Environment::holding(1).await;
    let rule = Backoff::custom(|attempt, _| {
        assert!(attempt > 1, "no row for attempt {attempt}");
        5 * SECOND
    });
    let start = Instant::now();
    let worker = environment.worker().retry(rule);
    let health = worker.health();
    let handler =
        |_: u64, cx: Context| async move { if cx.attempt() < 3 { Err("no") } else { Ok(()) } };
    let report = environment.work_off(worker, handler).await;
    assert_eq!(environment.counters().await.acked, 1);
    assert_eq!((report.counts.retried, report.counts.acked), (2, 1));
    assert_eq!(report.counts.backoff_panics, 1);
    assert_eq!(report.counts.panicked, 0, "no handler did");
    assert!(report.counts.balance(), "{report:?}");
    let error = health.last_error().unwrap();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(
        error.to_string().contains("no row for attempt 1"),
        "{error}"
    );
    // The default's first delay is half a second to a second; then comes the rule's.
    let took = start.elapsed() - 5 * SECOND;
    assert!(
        took >= SECOND / 2 && took <= SECOND + 50 * MILLI,
        "{took:?}"
    );
}

/// Reads numbers, and panics at anything else.
#[derive(Debug)]
struct Rash;

impl Encode<u64> for Rash {
    fn encode(&self, value: &u64) -> Result<Bytes> {
        Ok(value.to_string().into())
    }
}

impl Decode<u64> for Rash {
    fn decode(&self, bytes: &Bytes) -> Result<u64> {
        Ok(std::str::from_utf8(bytes).unwrap().parse().unwrap())
    }
}

/// A queue with three messages; the second makes the codec panic.
async fn with_a_body_that_panics() -> (Environment, Consumer<u64>) {
    let config = ReliableConfig::default().with_max_attempts(3);
    let environment = Environment::with(&config).await;
    let bodies = ["1", "x", "2"].map(Push::new);
    environment.queue.push(&bodies).await.unwrap();
    let consumer = environment
        .spy
        .consumer::<u64>()
        .codec(Rash)
        .into_consumer();
    (environment, consumer)
}

async fn buried_alone(environment: &Environment, report: &Report) {
    let counters = environment.counters().await;
    // The others were done at their first attempt.
    let settled = (counters.acked, counters.retried, counters.died);
    assert_eq!(settled, (2, 2, 1), "{report:?}");
    assert_eq!(report.counts.panicked, 3, "{report:?}");
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_decoding_is_a_failed_attempt_of_that_message_alone() {
    let (environment, consumer) = with_a_body_that_panics().await;
    let report = Worker::new(consumer)
        .run_until(environment.empty(), |_: u64, _| async {})
        .await
        .unwrap();
    buried_alone(&environment, &report).await;

    let (environment, consumer) = with_a_body_that_panics().await;
    let report = Worker::new(consumer)
        .run_batches_until(3, environment.empty(), |_: Vec<(u64, Context)>| async {})
        .await
        .unwrap();
    buried_alone(&environment, &report).await;
}

/// Counts the handlers that run now, and the most that ran at once.
#[derive(Debug, Clone, Default)]
struct Concurrency(Arc<(AtomicUsize, AtomicUsize)>);

impl Concurrency {
    fn begin(&self) -> Self {
        let now = self.0.0.fetch_add(1, Relaxed) + 1;
        self.0.1.fetch_max(now, Relaxed);
        self.clone()
    }

    fn end(self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}

/// A handler whose first attempts panic in each possible way, and whose later attempts count.
fn rash(concurrency: &Concurrency) -> impl Fn(u64, Context) -> Work + Send + Sync + 'static {
    let concurrency = concurrency.clone();
    move |number, cx| {
        let first = cx.attempt() == 1;
        assert!(!(first && number % 3 == 0), "before there is a future");
        let concurrency = concurrency.clone();
        Box::pin(async move {
            assert!(!(first && number % 3 == 1), "at its first step");
            sleep(10 * MILLI).await;
            assert!(!first, "later");
            let run = concurrency.begin();
            sleep(SECOND).await;
            run.end();
        })
    }
}

type Work = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

#[tokio::test(start_paused = true)]
async fn a_panic_gives_its_slot_back_under_every_limit() {
    for limit in [Some(HOUR), None] {
        let environment = Environment::holding(30).await;
        let concurrency = Concurrency::default();
        let mut worker = environment.worker().concurrency(3);
        if let Some(limit) = limit {
            worker = worker.timeout(limit);
        }
        let worker = worker.retry(Backoff::fixed(Duration::ZERO));
        let start = Instant::now();
        let report = worker
            .run_until(environment.empty(), rash(&concurrency))
            .await;
        let counts = report.unwrap().counts;
        assert_eq!((counts.panicked, counts.acked), (30, 30), "{counts:?}");
        assert_eq!(concurrency.0.1.load(Relaxed), 3);
        assert!(start.elapsed() < 12 * SECOND, "{:?}", start.elapsed());
    }
    // The same where a queue has a limit of slots.
    let environment = Environment::holding(30).await;
    let concurrency = Concurrency::default();
    let route = environment.route().at_most(3);
    let start = Instant::now();
    let report = Workers::by_weight()
        .concurrency(16)
        .add(
            route.retry(Backoff::fixed(Duration::ZERO)),
            rash(&concurrency),
        )
        .run_until(environment.empty())
        .await;
    let counts = report.unwrap().counts;
    assert_eq!((counts.panicked, counts.acked), (30, 30), "{counts:?}");
    assert_eq!(concurrency.0.1.load(Relaxed), 3);
    assert!(start.elapsed() < 12 * SECOND, "{:?}", start.elapsed());
}

/// A value in a handler whose drop panics.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        // A second panic while the first unwinds would abort the process.
        assert!(std::thread::panicking(), "dropped half-way");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_drop_after_the_timeout_counts_as_a_panic() {
    let environment = Environment::holding(1).await;
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reasons);
    let worker = environment.worker().timeout(5 * SECOND);
    let handler = move |_: u64, cx: Context| {
        seen.lock().unwrap().extend(cx.failure().map(str::to_owned));
        async move {
            if cx.attempt() == 1 {
                let _fragile = Fragile;
                sleep(HOUR).await;
            }
        }
    };
    let counts = environment.work_off(worker, handler).await.counts;
    assert_eq!((counts.panicked, counts.timed_out), (1, 0));
    assert_eq!((counts.retried, counts.acked), (1, 1));
    let reason = "panicked: dropped half-way, when it was cut off after 5000 ms";
    assert_eq!(*reasons.lock().unwrap(), [reason]);
    assert!(counts.balance(), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_drop_counts_as_a_panic_when_the_worker_cuts_the_handler_off() {
    let environment = Environment::holding(3).await;
    let worker = environment.worker().concurrency(3).drain(SECOND);
    let report = worker.cleanup(SECOND).run_until(
        environment.until(|counters| counters.depth.leased == 3),
        |number: u64, _| async move {
            let _fragile = (number < 2).then(|| Fragile);
            sleep(HOUR).await;
        },
    );
    let counts = report.await.unwrap().counts;
    // The attempt is refunded, as that of each handler that is cut off.
    assert_eq!((counts.panicked, counts.released), (2, 3));
    assert!(counts.balance(), "{counts:?}");
    let again = environment.numbers.receive(SECOND, SECOND).await.unwrap();
    assert_eq!(again.unwrap().attempt(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_drop_counts_as_a_panic_on_a_lost_lease() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().lease(3 * SECOND).cleanup(SECOND);
    let worker = worker.max_hold(3 * SECOND);
    let handler = |_: u64, cx: Context| async move {
        if cx.attempt() == 1 {
            let _fragile = Fragile;
            sleep(HOUR).await;
        }
    };
    let counts = environment.work_off(worker, handler).await.counts;
    assert_eq!((counts.panicked, counts.lost, counts.acked), (1, 1, 1));
    assert!(counts.balance(), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_batchs_drop_counts_for_each_of_its_messages() {
    let environment = Environment::holding(3).await;
    let worker = environment.worker().drain(SECOND).cleanup(SECOND);
    let report = worker.run_batches_until(
        3,
        environment.until(|counters| counters.depth.leased == 3),
        |_: Vec<(u64, Context)>| async {
            let _fragile = Fragile;
            sleep(HOUR).await;
        },
    );
    let counts = report.await.unwrap().counts;
    assert_eq!((counts.panicked, counts.released), (3, 3));
    assert!(counts.balance(), "{counts:?}");
}
