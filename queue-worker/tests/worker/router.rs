//! Several types of jobs on one queue.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_worker::*;
use serde::{Deserialize, Serialize};

use crate::environment::{HOUR, MILLI, SECOND};

#[derive(Debug, Serialize, Deserialize)]
struct Welcome(u64);
impl Job for Welcome {
    const NAME: &'static str = "welcome";
}

#[derive(Debug, Serialize, Deserialize)]
struct Export {
    customer: u64,
}
impl Job for Export {
    const NAME: &'static str = "export";
}

/// A type that takes the name of another one.
#[derive(Debug, Serialize, Deserialize)]
struct OtherExport;
impl Job for OtherExport {
    const NAME: &'static str = "export";
}

async fn jobs() -> Reliable<Jobs> {
    let queues = Queues::new(MemoryBackend::new());
    let config = ReliableConfig::default().with_max_attempts(2);
    queues
        .reliable("jobs")
        .config(config)
        .open::<Jobs>()
        .await
        .unwrap()
}

/// Runs the router until the queue holds nothing but dead letters.
async fn work_off(jobs: &Reliable<Jobs>, worker: Workers) -> Report {
    let empty = async {
        while jobs.queue().counters().await.unwrap().depth.occupied() > 0 {
            tokio::time::sleep(10 * MILLI).await;
        }
    };
    let empty = tokio::time::timeout(2 * HOUR, empty);
    let mut in_time = false;
    let report = worker
        .run_until(async { in_time = empty.await.is_ok() })
        .await
        .unwrap();
    assert!(in_time, "{:?}", jobs.queue().counters().await);
    report
}

async fn reasons(jobs: &Reliable<Jobs>) -> Vec<Option<String>> {
    let dead = jobs.queue().dead_letters(Page::first(10)).await.unwrap();
    dead.entries
        .into_iter()
        .map(|letter| letter.failure)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_job_comes_to_the_handler_of_its_type() {
    let jobs = jobs().await;
    jobs.push(&Welcome(7)).await.unwrap();
    jobs.push_all(&[Export { customer: 1 }, Export { customer: 2 }])
        .await
        .unwrap();
    let headers = Headers::new().with("tenant", "acme");
    jobs.message(&Welcome(8))
        .headers(headers)
        .send()
        .await
        .unwrap();

    let seen = Arc::new(Mutex::new(Vec::new()));
    let (welcomes, exports) = (Arc::clone(&seen), Arc::clone(&seen));
    let router = Router::new()
        .on(move |job: Welcome, cx: Context| {
            let tenant = cx.headers().get("tenant").map(str::to_owned);
            welcomes
                .lock()
                .unwrap()
                .push(format!("welcome {} {tenant:?}", job.0));
            async {}
        })
        .on(move |job: Export, _| {
            exports
                .lock()
                .unwrap()
                .push(format!("export {}", job.customer));
            async {}
        });
    let worker = Worker::new(jobs.clone()).router(router);
    let health = worker.health();
    let report = work_off(&jobs, worker).await;
    assert_eq!(report.counts.acked, 4);
    let expected = [
        "welcome 7 None",
        "export 1",
        "export 2",
        "welcome 8 Some(\"acme\")",
    ];
    assert_eq!(*seen.lock().unwrap(), expected);

    let by_job: BTreeMap<_, _> = health
        .jobs()
        .into_iter()
        .map(|(job, counts)| (job, counts.acked))
        .collect();
    assert_eq!(
        by_job,
        BTreeMap::from([("export".to_owned(), 2), ("welcome".to_owned(), 2)])
    );
    assert!(
        health.jobs().values().all(Counts::balance),
        "{:?}",
        health.jobs()
    );
}

#[tokio::test(start_paused = true)]
async fn a_type_without_a_handler_is_a_failed_attempt_with_its_name() {
    let jobs = jobs().await;
    jobs.push(&Export { customer: 1 }).await.unwrap();
    jobs.queue().push_one("{}").await.unwrap().id().unwrap();
    let worker = || Worker::new(jobs.clone()).router(Router::new().on(|_: Welcome, _| async {}));
    let report = work_off(&jobs, worker()).await;
    assert_eq!((report.counts.retried, report.counts.died), (2, 2));
    let reasons = reasons(&jobs).await;
    assert!(
        reasons.contains(&Some("no handler for job `export`".to_owned())),
        "{reasons:?}"
    );
    assert!(
        reasons.contains(&Some(
            "no handler: the message has no header `job`".to_owned()
        )),
        "{reasons:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_type_is_buried_at_once_if_the_router_says_so() {
    let jobs = jobs().await;
    jobs.push(&Export { customer: 1 }).await.unwrap();
    let router = Router::new().on(|_: Welcome, _| async {}).bury_unknown();
    let worker = Worker::new(jobs.clone()).router(router);
    let health = worker.health();
    let report = work_off(&jobs, worker).await;
    assert_eq!((report.counts.retried, report.counts.died), (0, 1));
    assert_eq!(health.jobs()["unknown"].died, 1);
}

#[tokio::test(start_paused = true)]
async fn a_type_has_its_own_timeout_back_off_and_undecodable_rule() {
    let jobs = jobs().await;
    jobs.push(&Welcome(1)).await.unwrap();
    let body = Push::new("no export").with_headers(Headers::new().with_job("export"));
    jobs.queue().push_one(body).await.unwrap().id().unwrap();
    let begins = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&begins);
    let slow = JobSettings::new()
        .timeout(2 * SECOND)
        .retry(Backoff::fixed(60 * SECOND));
    let router = Router::new()
        .on_with(slow, move |_: Welcome, cx: Context| {
            let now = tokio::time::Instant::now();
            assert_eq!(cx.cut_off(), Some((now + 2 * SECOND).into_std()));
            log.lock().unwrap().push(now);
            tokio::time::sleep(HOUR)
        })
        .on_with(
            JobSettings::new().bury_undecodable(true),
            |_: Export, _| async {},
        );
    let worker = Worker::new(jobs.clone())
        .retry(Backoff::fixed(HOUR))
        .router(router);
    let report = work_off(&jobs, worker).await;
    assert_eq!((report.counts.timed_out, report.counts.undecodable), (2, 1));
    assert_eq!((report.counts.retried, report.counts.died), (1, 2));
    let begins = begins.lock().unwrap();
    let pause = begins[1] - begins[0];
    assert!(pause >= 62 * SECOND && pause < 70 * SECOND, "{pause:?}");
}

#[tokio::test(start_paused = true)]
async fn a_type_with_a_limit_leaves_the_other_slots_free() {
    let jobs = jobs().await;
    let exports: Vec<Export> = (0..20).map(|customer| Export { customer }).collect();
    jobs.push_all(&exports).await.unwrap();
    jobs.push(&Welcome(1)).await.unwrap();
    let begin = tokio::time::Instant::now();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let welcomed = Arc::new(Mutex::new(None));
    let (at, peak) = (Arc::clone(&welcomed), Arc::clone(&most));
    let router = Router::new()
        .on_with(
            JobSettings::new().at_most(2),
            move |_: Export, cx: Context| {
                let (running, peak) = (Arc::clone(&running), Arc::clone(&peak));
                async move {
                    assert_eq!(cx.attempt(), 1, "a deferral costs no attempt");
                    peak.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                    tokio::time::sleep(10 * SECOND).await;
                    running.fetch_sub(1, SeqCst);
                }
            },
        )
        .on(move |_: Welcome, _| {
            *at.lock().unwrap() = Some(tokio::time::Instant::now());
            async {}
        });
    let report = work_off(
        &jobs,
        Worker::new(jobs.clone()).concurrency(4).router(router),
    )
    .await;
    assert_eq!((report.counts.acked, most.load(SeqCst)), (21, 2));
    let waited = welcomed.lock().unwrap().unwrap() - begin;
    assert!(waited < SECOND, "{waited:?}: exports held it up");
    // Two at a time, 10 s each, take 100 s.
    let took = begin.elapsed();
    assert!(took >= 100 * SECOND && took < 150 * SECOND, "{took:?}");
    // Each job comes once, and is deferred a few times.
    assert!(report.counts.deferred < 150, "{:?}", report.counts);
}

#[tokio::test(start_paused = true)]
async fn bad_routers_are_refused_before_anything_is_done() {
    let jobs = jobs().await;
    let two = Router::new()
        .on(|_: Export, _| async {})
        .on(|_: OtherExport, _| async {});
    let never = Router::new().on_with(JobSettings::new().at_most(0), |_: Export, _| async {});
    let no_time = Router::new().on_with(
        JobSettings::new().timeout(Duration::ZERO),
        |_: Export, _| async {},
    );
    let held = Router::new().on_with(JobSettings::new().timeout(HOUR), |_: Export, _| async {});
    for (router, says) in [
        (two, "two handlers for job `export`"),
        (Router::new(), "a router without a handler"),
        (never, "at most 0 jobs of type `export`"),
        (
            no_time,
            "a timeout of 0 leaves jobs of type `export` no time",
        ),
        (held, "longer than a message is held (60000 ms)"),
    ] {
        let worker = Worker::new(jobs.clone())
            .max_hold(60 * SECOND)
            .router(router);
        let error = worker.run().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_leasing_kind_has_a_handle_of_jobs() {
    let queues = Queues::new(MemoryBackend::new());
    let router = || {
        Router::new()
            .on(|_: Welcome, _| async {})
            .on(|_: Export, _| async {})
    };
    let delay = queues.delay("delay").open::<Jobs>().await.unwrap();
    delay.push(&Welcome(1), SECOND).await.unwrap();
    delay
        .push_all(&[(Welcome(2), SECOND.into())])
        .await
        .unwrap();
    delay
        .message(&Export { customer: 1 })
        .delay(SECOND)
        .send()
        .await
        .unwrap();
    let priority = queues.priority("priority").open::<Jobs>().await.unwrap();
    priority.push(&Welcome(1), 3).await.unwrap();
    priority.push_all(&[(Welcome(2), 1)]).await.unwrap();
    priority
        .message(&Export { customer: 1 })
        .priority(-3)
        .send()
        .await
        .unwrap();
    let bounded = queues.bounded("bounded", 10).open::<Jobs>().await.unwrap();
    bounded
        .push(&Welcome(1), Overflow::Reject)
        .await
        .unwrap()
        .id()
        .unwrap();
    bounded
        .push(&Welcome(2), Overflow::Reject)
        .await
        .unwrap()
        .id()
        .unwrap();
    bounded
        .message(&Export { customer: 1 })
        .overflow(Overflow::Reject)
        .send()
        .await
        .unwrap()
        .id()
        .unwrap();
    let workers = Workers::by_weight()
        .concurrency(3)
        .add_router(Route::new(delay), router())
        .add_router(Route::new(priority), router())
        .add_router(Route::new(bounded), router());
    let report = workers
        .run_until(tokio::time::sleep(60 * SECOND))
        .await
        .unwrap();
    assert_eq!(report.counts.acked, 9);
}
