//! Layers around handlers.

use std::sync::{Arc, Mutex};

use queue_core::ErrorKind;
use queue_worker::*;

use crate::environment::{Environment, HOUR, MILLI, SECOND};

type Log = Arc<Mutex<Vec<String>>>;

/// Logs the begin and the end of each handling.
struct Named(&'static str, Log);

impl Named {
    fn log(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

impl HandlerLayer for Named {
    async fn around(&self, cx: &Context, next: Next) -> Verdict {
        self.log(&format!("begins attempt {}", cx.attempt()));
        let verdict = next.run().await;
        self.log(match verdict {
            Verdict::Done | Verdict::DoneWith(_) => "done",
            Verdict::Failed(_) => "failed",
            other => panic!("{other:?}"),
        });
        verdict
    }
}

/// Makes another verdict of each.
struct Always(Verdict);

impl HandlerLayer for Always {
    async fn around(&self, _: &Context, next: Next) -> Verdict {
        next.run().await;
        self.0.clone()
    }
}

/// Calls no handler.
struct Closed;

impl HandlerLayer for Closed {
    async fn around(&self, _: &Context, _: Next) -> Verdict {
        Verdict::Failed(Failure::bury("closed"))
    }
}

#[tokio::test(start_paused = true)]
async fn the_layer_that_is_added_first_is_the_outermost() {
    let environment = Environment::holding(1).await;
    let log = Log::default();
    let worker = environment.worker().layer(Named("outer", Arc::clone(&log)));
    let worker = worker.layer(Named("inner", Arc::clone(&log)));
    let handled = Arc::clone(&log);
    let report = environment
        .work_off(worker, move |_: u64, _| {
            handled.lock().unwrap().push("handled".to_owned());
            async {}
        })
        .await;
    assert_eq!(report.counts.acked, 1);
    let expected = [
        "outer begins attempt 1",
        "inner begins attempt 1",
        "handled",
        "inner done",
        "outer done",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_layer_decides_the_verdict() {
    let environment = Environment::holding(2).await;
    let buried = Verdict::Failed(Failure::bury("not today"));
    let report = environment
        .work_off(
            environment.worker().layer(Always(buried)),
            |_: u64, _| async {},
        )
        .await;
    assert_eq!(report.counts.died, 2);
    environment.push(1).await;
    let handler =
        |_: u64, cx: Context| async move { assert_eq!(cx.attempt(), 0, "no layer calls it") };
    let report = environment
        .work_off(environment.worker().layer(Closed), handler)
        .await;
    assert_eq!((report.counts.died, report.counts.panicked), (1, 0));
}

/// Panics after the handler.
struct Broken;

impl HandlerLayer for Broken {
    async fn around(&self, cx: &Context, next: Next) -> Verdict {
        let verdict = next.run().await;
        assert!(cx.attempt() > 1, "a broken layer");
        verdict
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_layer_is_a_failed_attempt() {
    let environment = Environment::holding(1).await;
    let report = environment
        .work_off(environment.worker().layer(Broken), |_: u64, _| async {})
        .await;
    assert_eq!(
        (
            report.counts.panicked,
            report.counts.retried,
            report.counts.acked
        ),
        (1, 1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn the_timeout_covers_layers_and_handler_together() {
    let environment = Environment::holding(1).await;
    let log = Log::default();
    let worker = environment
        .worker()
        .timeout(SECOND)
        .layer(Named("outer", Arc::clone(&log)));
    let handler = |_: u64, cx: Context| async move {
        if cx.attempt() == 1 {
            tokio::time::sleep(HOUR).await;
        }
    };
    let report = environment.work_off(worker, handler).await;
    assert_eq!((report.counts.timed_out, report.counts.acked), (1, 1));
    let expected = [
        "outer begins attempt 1",
        "outer begins attempt 2",
        "outer done",
    ];
    assert_eq!(
        *log.lock().unwrap(),
        expected,
        "the layer of the first attempt was cut off"
    );
}

#[tokio::test(start_paused = true)]
async fn a_layer_around_a_batch_handler_is_refused() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().layer(Closed);
    let shutdown = tokio::time::sleep(MILLI);
    let error = worker
        .run_batches_until(1, shutdown, |_: Vec<(u64, Context)>| async {})
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("layer"), "{error}");
    assert_eq!(environment.spy.watched().calls(), 0);
}

#[cfg(feature = "tower")]
mod of_tower {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use tower::{limit::ConcurrencyLimitLayer, timeout::TimeoutLayer};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_error_of_a_service_is_a_failed_attempt() {
        let environment = Environment::holding(1).await;
        let worker = environment
            .worker()
            .layer(Tower::new(&TimeoutLayer::new(SECOND)));
        let failures = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&failures);
        let handler = move |_: u64, cx: Context| {
            log.lock().unwrap().push(cx.failure().map(str::to_owned));
            async move {
                if cx.attempt() == 1 {
                    tokio::time::sleep(HOUR).await;
                }
            }
        };
        let report = environment.work_off(worker, handler).await;
        assert_eq!((report.counts.retried, report.counts.acked), (1, 1));
        let expected = [None, Some("request timed out".to_owned())];
        assert_eq!(*failures.lock().unwrap(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn all_jobs_share_the_limit_of_a_layer() {
        let environment = Environment::holding(40).await;
        let limit = Tower::new(&ConcurrencyLimitLayer::new(3));
        let worker = environment.worker().concurrency(16).layer(limit);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let peak = Arc::clone(&most);
        let handler = move |_: u64, _| {
            let (running, peak) = (Arc::clone(&running), Arc::clone(&peak));
            async move {
                peak.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::time::sleep(SECOND).await;
                running.fetch_sub(1, SeqCst);
            }
        };
        let report = environment.work_off(worker, handler).await;
        assert_eq!((report.counts.acked, most.load(SeqCst)), (40, 3));
    }
}
