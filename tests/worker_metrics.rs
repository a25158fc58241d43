//! A worker's metrics, as Prometheus reads them.

#[path = "../examples/prometheus/exposition.rs"]
mod exposition;

use std::{
    future::{Future, pending},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use queue_kit::{
    Backoff, Failure, Headers, Leasing, LeasingExt, Queues, Reliable, Timestamp, Token, Worker,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    time::{Instant, sleep, timeout},
};

const SECOND: Duration = Duration::from_secs(1);
/// The longest wait for an effect whose cause has happened.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test with a recorder of its own, in virtual time or in real time.
fn recorded<F: Future<Output = ()>>(paused: bool, test: impl FnOnce(Page) -> F) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = Page(recorder.handle());
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(paused)
        .build()
        .expect("a runtime");
    metrics::with_local_recorder(&recorder, || runtime.block_on(test(page)));
}

/// The page that a scraper would see.
#[derive(Clone)]
struct Page(PrometheusHandle);

impl Page {
    /// The sample of this name, with its labels as the page shows them; 0 if the page shows none.
    fn value(&self, sample: &str) -> f64 {
        let page = self.0.render();
        let value = page.lines().find_map(|line| line.strip_prefix(sample));
        value.map_or(0.0, |value| value.trim().parse().expect("a number"))
    }

    fn of(&self, name: &str) -> f64 {
        self.value(&format!("{name}{{queue=\"jobs\"}}"))
    }

    fn by(&self, name: &str, label: &str, value: &str) -> f64 {
        self.value(&format!("{name}{{queue=\"jobs\",{label}=\"{value}\"}}"))
    }
}

async fn jobs() -> Reliable<u64> {
    let queues = queue_kit::connect("memory:").await.expect("connects");
    queues.reliable("jobs").open().await.expect("opens")
}

/// Waits, for a bounded time, until nothing is ready, delayed or leased.
async fn empty(queue: &dyn Leasing) {
    let poll = async {
        while queue.depth().await.expect("counts").occupied() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(PATIENCE, poll).await.is_ok(), "something is left");
}

#[test]
fn each_delivery_has_one_outcome_and_each_handling_one_ending() {
    static BUSY: AtomicBool = AtomicBool::new(true);
    recorded(true, async |page| {
        let jobs = jobs().await;
        jobs.push_all(&[0, 1, 2, 3, 4, 5]).await.expect("pushes");
        jobs.queue()
            .push_one("no number")
            .await
            .expect("pushes")
            .id()
            .unwrap();
        let report = Worker::new(jobs.clone())
            .named("jobs")
            .concurrency(2)
            .timeout(SECOND)
            .retry(Backoff::fixed(SECOND))
            .run_until(empty(&**jobs.queue()), |job, context| async move {
                if context.attempt() > 1 {
                    return Ok(());
                }
                match job {
                    0 => Ok(()),
                    1 => Err(Failure::new("not yet")),
                    2 => panic!("as it is meant to"),
                    3 => pending().await,
                    // The attempt is refunded, so the next one is the first again.
                    4 if BUSY.swap(false, Ordering::Relaxed) => Err(Failure::defer("busy", SECOND)),
                    4 => Ok(()),
                    _ => Err(Failure::bury("never")),
                }
            })
            .await
            .expect("sound settings");
        let counts = report.counts;
        assert_eq!((counts.leased, counts.acked), (15, 5));
        let outcomes = [
            ("acked", counts.acked),
            ("retried", counts.retried),
            ("deferred", counts.deferred),
            ("died", counts.died),
            ("lost", 0),
        ];
        for (outcome, count) in outcomes {
            let shown = page.by("queue_kit_outcomes_total", "outcome", outcome);
            assert_eq!(shown, count as f64, "{outcome}");
        }
        let endings = [
            ("done", 5.0),
            ("deferred", 1.0),
            ("failed", 2.0),
            ("panicked", 1.0),
            ("timed_out", 1.0),
            ("undecodable", 5.0),
            ("cut_off", 0.0),
        ];
        for (ending, count) in endings {
            let shown = page.by("queue_kit_handled_total", "ending", ending);
            assert_eq!(shown, count, "{ending}");
        }
        assert_eq!(page.of("queue_kit_deliveries_total"), 15.0);
        assert_eq!(page.of("queue_kit_handler_seconds_count"), 15.0);
        assert_eq!(page.of("queue_kit_handler_seconds_sum"), 1.0, "the timeout");
        assert_eq!(page.of("queue_kit_in_flight"), 0.0);
        let settle_and_leases = page.by("queue_kit_calls_total", "call", "settle_and_lease");
        assert_eq!(settle_and_leases, counts.calls as f64);
        assert_eq!(page.of("queue_kit_leases_lost_total"), 0.0);
        assert_eq!(page.of("queue_kit_wait_seconds_count"), 0.0, "no stamps");
    });
}

#[test]
fn a_dropped_worker_leaves_nothing_in_flight() {
    recorded(true, async |page| {
        let jobs = jobs().await;
        jobs.push_all(&[0, 1, 2]).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).named("jobs").concurrency(2);
        let run = worker.run(|_, _| pending::<()>());
        let crashed = timeout(SECOND, run);
        let shown = page.clone();
        let poll_page = async {
            sleep(SECOND / 2).await;
            shown.of("queue_kit_in_flight")
        };
        let (crashed, in_flight) = tokio::join!(crashed, poll_page);
        assert!(crashed.is_err(), "it never ends on its own");
        assert_eq!(in_flight, 2.0);
        assert_eq!(page.of("queue_kit_deliveries_total"), 2.0);
        assert_eq!(page.of("queue_kit_in_flight"), 0.0);
    });
}

#[test]
fn depth_and_age_are_sampled_when_that_is_asked_for() {
    recorded(true, async |page| {
        let jobs = jobs().await;
        jobs.push_all(&[0, 1, 2, 3]).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).named("jobs").sample_every(SECOND);
        let shutdown = sleep(Duration::from_millis(4_500));
        let report = worker.run_until(shutdown, |job, _| async move {
            if job > 0 {
                sleep(10 * SECOND).await;
            }
        });
        report.await.expect("sound settings");
        let messages = |state| page.by("queue_kit_messages", "state", state);
        assert_eq!((messages("ready"), messages("leased")), (2.0, 1.0));
        assert_eq!((messages("delayed"), messages("dead")), (0.0, 0.0));
        let oldest = page.of("queue_kit_oldest_ready_seconds");
        assert!(
            (10.0..=15.0).contains(&oldest),
            "sampled while it drained: {oldest}"
        );
        let samples = page.by("queue_kit_calls_total", "call", "counters");
        assert!((10.0..=16.0).contains(&samples), "one a second: {samples}");
    });
}

#[test]
fn a_paused_queue_shows_when_it_is_sampled() {
    recorded(true, async |page| {
        let jobs = jobs().await;
        jobs.queue().pause().await.expect("pauses");
        let shown = page.clone();
        let steps = async {
            sleep(SECOND / 2).await;
            let paused = shown.of("queue_kit_paused");
            jobs.queue().resume().await.expect("resumes");
            sleep(SECOND).await;
            assert_eq!((paused, shown.of("queue_kit_paused")), (1.0, 0.0));
        };
        let worker = Worker::new(jobs.clone()).named("jobs").sample_every(SECOND);
        let report = worker.run_until(steps, |_, _| async {});
        report.await.expect("sound settings");
        let described = page.0.render();
        assert!(
            described.contains("# TYPE queue_kit_paused gauge"),
            "{described}"
        );
    });
}

#[test]
fn nothing_is_sampled_unless_it_is_asked_for() {
    recorded(true, async |page| {
        let jobs = jobs().await;
        let worker = Worker::new(jobs.clone()).named("jobs");
        let report = worker.run_until(sleep(60 * SECOND), |_, _| async {});
        report.await.expect("sound settings");
        assert_eq!(page.by("queue_kit_calls_total", "call", "counters"), 0.0);
        let wrong = Worker::new(jobs).sample_every(Duration::ZERO);
        assert!(wrong.run(|_, _| async {}).await.is_err());
    });
}

/// The backend's time, from the token of a delivery.
async fn now(queues: &Queues) -> Timestamp {
    let probe = queues.reliable("probe").open::<u64>().await.expect("opens");
    probe.push(&0).await.expect("pushes");
    let delivery = probe.receive(SECOND, SECOND).await.expect("receives");
    let delivery = delivery.expect("it was pushed");
    let now = delivery.receipt().token.get() / Token::PER_MILLI;
    delivery.ack().await.expect("acks");
    Timestamp::from_millis(now)
}

#[test]
fn lateness_is_exact_where_the_due_time_is_the_backends() {
    recorded(true, async |page| {
        let queues = queue_kit::connect("memory:").await.expect("connects");
        let jobs = queues.delay("jobs").open::<u64>().await.expect("opens");
        let now = now(&queues).await;
        // The second is due while the handler has the first; its retry does not count again.
        for (number, millis) in [(0, 1_000), (1, 3_000)] {
            let due = now.plus_millis(millis);
            let headers = Headers::new().with_due_at(due, SystemTime::UNIX_EPOCH);
            let message = jobs.message(&number).headers(headers).due(due);
            message.send().await.expect("pushes");
        }
        let shutdown = empty(&**jobs.queue());
        let worker = Worker::new(jobs.clone()).named("jobs");
        let report = worker.run_until(shutdown, |_, context| async move {
            sleep(5 * SECOND).await;
            match context.attempt() {
                1 => Err("not yet"),
                _ => Ok(()),
            }
        });
        report.await.expect("sound settings");
        assert_eq!(page.of("queue_kit_lateness_seconds_count"), 2.0);
        let late = page.of("queue_kit_lateness_seconds_sum");
        assert!((3.0..3.01).contains(&late), "0 s and 3 s: {late}");
        assert_eq!(page.of("queue_kit_wait_seconds_count"), 0.0);
    });
}

#[test]
fn a_wait_is_measured_from_the_timestamp_of_the_producer() {
    recorded(true, async |page| {
        let queues = queue_kit::connect("memory:").await.expect("connects");
        let jobs = queues.reliable("jobs").open::<u64>().await.expect("opens");
        let pushed = SystemTime::UNIX_EPOCH + Duration::from_millis(now(&queues).await.as_millis());
        let headers = Headers::new().with_pushed_at(pushed);
        let message = jobs.message(&1).headers(headers);
        message.send().await.expect("pushes");
        sleep(7 * SECOND).await;
        let worker = Worker::new(jobs.clone()).named("jobs");
        let report = worker.run_until(empty(&**jobs.queue()), |_, _| async {});
        report.await.expect("sound settings");
        assert_eq!(page.of("queue_kit_wait_seconds_count"), 1.0);
        assert_eq!(page.of("queue_kit_wait_seconds_sum"), 7.0);
        assert_eq!(page.of("queue_kit_lateness_seconds_count"), 0.0);
    });
}

#[test]
fn a_lost_lease_is_counted_once() {
    recorded(true, async |page| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).named("jobs");
        let worker = worker.lease(SECOND).max_hold(3 * SECOND);
        let start = Instant::now();
        let report = worker.run_until(empty(&**jobs.queue()), move |_, context| async move {
            if context.attempt() == 1 {
                context.stopped().await;
                assert!(start.elapsed() >= 3 * SECOND, "it was held so long");
            }
        });
        let report = report.await.expect("sound settings");
        assert_eq!((report.counts.lost, report.counts.acked), (1, 1));
        assert_eq!(page.of("queue_kit_leases_lost_total"), 1.0);
        assert_eq!(page.by("queue_kit_outcomes_total", "outcome", "lost"), 1.0);
        let extended = page.of("queue_kit_leases_extended_total");
        assert_eq!(extended, report.counts.extended as f64);
        assert!(extended > 0.0);
    });
}

async fn scrape(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sends");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("answers");
    answer
}

#[test]
fn prometheus_scrapes_them_over_http() {
    recorded(false, async |page| {
        let jobs = jobs().await;
        jobs.push_all(&(0..20).collect::<Vec<_>>())
            .await
            .expect("pushes");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let serve = exposition::serve(listener, move || page.0.render());
        // The test scrapes while the worker runs.
        let scraped = async {
            empty(&**jobs.queue()).await;
            let missing = scrape(address, "/").await;
            assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
            scrape(address, "/metrics").await
        };
        let mut answer = String::new();
        let shutdown = async {
            answer = tokio::select! {
                biased;
                answer = scraped => answer,
                failed = serve => panic!("{failed:?}"),
            };
        };
        let worker = Worker::new(jobs.clone())
            .named("jobs")
            .sample_every(PATIENCE);
        let report = worker.run_until(shutdown, |_, _| async {});
        report.await.expect("sound settings");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(
            head.contains(&format!("content-length: {}", body.len())),
            "{head}"
        );
        for line in [
            "# HELP queue_kit_outcomes_total Deliveries by outcome",
            "# TYPE queue_kit_outcomes_total counter",
            "queue_kit_deliveries_total{queue=\"jobs\"} 20",
            "# TYPE queue_kit_messages gauge",
            "# TYPE queue_kit_handler_seconds summary",
        ] {
            assert!(
                body.lines().any(|found| found == line),
                "no {line} in {body}"
            );
        }
    });
}
