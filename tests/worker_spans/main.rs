//! The spans and events of a worker, as a subscriber sees them.

mod outages;
mod recorder;

use std::{
    future::{Future, pending},
    sync::Arc,
    time::Duration,
};

use queue_kit::{
    Backoff, Context, Failure, Headers, Leasing, LeasingExt, Reliable, ReliableConfig, TraceParent,
    Worker,
};
use tokio::{
    runtime::Builder,
    time::{sleep, timeout},
};
use tracing::{Instrument, Level, info};
use tracing_subscriber::{Registry, layer::SubscriberExt};

use self::recorder::SpanRecorder;

const SECOND: Duration = Duration::from_secs(1);
/// The longest wait for an effect whose cause has happened.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test in virtual time under a subscriber of its own. The registry reuses the ids of closed spans,
/// so a test reads a span while it is open, or creates few.
fn traced<F: Future<Output = ()>>(test: impl FnOnce(SpanRecorder) -> F) {
    let recorder = SpanRecorder::default();
    let subscriber = Registry::default().with(recorder.clone());
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    tracing::subscriber::with_default(subscriber, || runtime.block_on(test(recorder)));
}

async fn jobs() -> Reliable<u64> {
    let queues = queue_kit::connect("memory:").await.expect("connects");
    let config = ReliableConfig::default().with_max_attempts(2);
    queues
        .reliable("jobs")
        .config(config)
        .open()
        .await
        .expect("opens")
}

/// Waits, for a bounded time, until nothing is ready, delayed or leased.
async fn empty(jobs: &Reliable<u64>) {
    let poll = async {
        while jobs.queue().depth().await.expect("counts").occupied() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(PATIENCE, poll).await.is_ok(), "something is left");
}

fn parent() -> TraceParent {
    TraceParent::new(0xabc, 0xdef, true).expect("neither is zero")
}

async fn push_traced(jobs: &Reliable<u64>, number: u64) {
    let headers = Headers::new().with_trace_parent(parent());
    let message = jobs.message(&number).headers(headers);
    message.send().await.expect("pushes");
}

#[test]
fn a_job_runs_in_a_span_that_knows_its_message_and_its_producers_trace() {
    traced(async |recorder| {
        let jobs = jobs().await;
        push_traced(&jobs, 7).await;
        let around = tracing::info_span!("around");
        let worker = Worker::new(jobs.clone()).named("jobs");
        let report = worker.run_until(empty(&jobs), |_, context| async move {
            let parent = context.headers().trace_parent();
            info!(trace = parent.map(TraceParent::trace_id), "at work");
            Ok::<_, &str>(())
        });
        report.instrument(around).await.expect("sound settings");

        let spans = recorder.spans("job");
        let [(id, span)] = &spans[..] else {
            panic!("one job is one span: {spans:?}");
        };
        assert_eq!(
            span.parent, None,
            "it is not part of what started the worker"
        );
        assert!(span.closed);
        let field = |name: &str| span.fields.get(name).map(String::as_str);
        assert_eq!(field("queue"), Some("jobs"));
        assert_eq!((field("id"), field("attempt")), (Some("1"), Some("1")));
        assert_eq!(field("trace_id"), Some("00000000000000000000000000000abc"));
        assert_eq!(field("parent_id"), Some("0000000000000def"));
        assert_eq!((field("outcome"), field("reason")), (Some("done"), None));

        let work = &recorder.events("at work")[0];
        assert_eq!(work.within, Some(*id));
        assert_eq!(work.fields["trace"], 0xabc.to_string());
        let settled = &recorder.events("settled")[0];
        assert_eq!(
            (settled.level, &*settled.fields["outcome"]),
            (Level::DEBUG, "acked")
        );
        let phases = recorder.events("the worker's phase");
        assert!(phases.iter().all(|event| event.fields["queues"] == "jobs"));
        let phases: Vec<_> = phases.iter().map(|event| &*event.fields["phase"]).collect();
        assert_eq!(phases, ["Working", "Draining", "Ended"]);
    });
}

/// A child has the trace of its parent, unless it has one of its own.
#[test]
fn a_child_of_a_job_runs_in_the_trace_of_its_parent() {
    traced(async |recorder| {
        let queues = queue_kit::connect("memory:").await.expect("connects");
        let jobs: Reliable<u64> = queues.reliable("jobs").open().await.expect("opens");
        let mails: Reliable<u64> = queues.reliable("mails").open().await.expect("opens");
        push_traced(&jobs, 7).await;
        jobs.push(&8).await.expect("pushes");
        let children = mails.clone();
        let parents = Worker::new(jobs.clone()).run_until(empty(&jobs), move |job, cx: Context| {
            let mails = children.clone();
            async move {
                let spawned = cx.spawn("mails", &mails, [job]).await?;
                let _ = cx.join(&spawned).await?;
                Ok::<_, Failure>(())
            }
        });
        let over = async {
            empty(&jobs).await;
            empty(&mails).await;
        };
        let mailing = Worker::new(mails.clone());
        let mailing = mailing.run_until(over, |_, _| async { Ok::<_, Failure>(()) });
        let (parents, mailing) = tokio::join!(parents, mailing);
        assert!(parents.is_ok() && mailing.is_ok(), "sound settings");

        let spans = recorder.spans("job");
        let spans = spans.iter().map(|(_, span)| &span.fields);
        let of_mails = spans.filter(|fields| fields["queue"] == "mails");
        let mut traces: Vec<_> = of_mails
            .map(|fields| {
                (
                    fields.get("trace_id").cloned(),
                    fields.get("parent_id").cloned(),
                )
            })
            .collect();
        traces.sort();
        let trace = "00000000000000000000000000000abc".to_owned();
        let span = "0000000000000def".to_owned();
        assert_eq!(traces, [(None, None), (Some(trace), Some(span))]);
    });
}

#[test]
fn a_failure_says_why_and_a_death_is_a_warning() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).retry(Backoff::fixed(SECOND));
        let report = worker.run_until(empty(&jobs), |_, _| async { Err::<(), _>("no paper") });
        report.await.expect("sound settings");
        for (_, span) in recorder.spans("job") {
            assert_eq!(span.fields["outcome"], "failed");
            assert_eq!(span.fields["reason"], "no paper");
        }
        let failed = &recorder.events("attempt 1 failed: no paper")[0];
        assert_eq!(failed.level, Level::WARN, "the first of its kind");
        let field = |name: &str| &*failed.fields[name];
        assert_eq!((field("outcome"), field("reason")), ("retried", "no paper"));
        let died = &recorder.events("died after 2 attempts: no paper")[0];
        assert_eq!(died.level, Level::WARN);
        let field = |name: &str| &*died.fields[name];
        assert_eq!((field("outcome"), field("reason")), ("died", "no paper"));
        assert_eq!((field("queue"), field("attempt")), ("jobs", "2"));
    });
}

/// The reason of a failure may be a stranger's text. The message of a log line stays one line; the field has it all.
#[test]
fn a_log_line_has_no_unprintable_character() {
    const REASON: &str = "no\n\u{1b}[2J\u{9b}\u{202e}paper";
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).retry(Backoff::fixed(SECOND));
        let report = worker.run_until(empty(&jobs), |_, _| async { Err::<(), _>(REASON) });
        report.await.expect("sound settings");
        for logged in [
            "attempt 1 failed: no  [2J  paper",
            "died after 2 attempts: no  [2J  paper",
        ] {
            let event = &recorder.events(logged)[0];
            assert_eq!(event.fields["reason"], REASON);
        }
    });
}

#[test]
fn every_death_is_logged_with_its_reason() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push_all(&[0, 1, 2]).await.expect("pushes");
        jobs.queue()
            .push_one("no number")
            .await
            .expect("pushes")
            .id()
            .unwrap();
        let worker = Worker::new(jobs.clone()).retry(Backoff::fixed(SECOND));
        let worker = worker.timeout(SECOND);
        let report = worker.run_until(empty(&jobs), |number, _| async move {
            match number {
                0 => Err::<(), _>(Failure::bury("no such customer")),
                1 => panic!("as it is meant to"),
                _ => pending().await,
            }
        });
        let report = report.await.expect("sound settings");
        assert_eq!(report.counts.died, 4);
        let mut warnings = recorder.warnings();
        warnings.retain(|text| text.starts_with("died"));
        warnings.sort();
        let (undecodable, others): (Vec<_>, Vec<_>) = warnings
            .into_iter()
            .partition(|text| text.contains("decode"));
        assert_eq!(
            others,
            [
                "died after 1 attempt: no such customer",
                "died after 2 attempts: panicked: as it is meant to",
                "died after 2 attempts: timed out after 1000 ms",
            ]
        );
        let logged = "died after 2 attempts: cannot decode: ";
        assert_eq!(undecodable.len(), 1);
        assert!(undecodable[0].starts_with(logged), "{undecodable:?}");
        let spans = recorder.spans("job").into_iter();
        let mut ends = spans.filter(|(_, span)| span.fields["outcome"] == "undecodable");
        assert!(ends.all(|(_, span)| span.fields["reason"].starts_with("cannot decode: ")));
    });
}

#[test]
fn an_outcome_is_logged_when_known_and_not_as_intended() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let queue = Arc::clone(jobs.queue());
        let seen = recorder.clone();
        let worker = Worker::new(jobs.clone());
        let report = worker.run_until(empty(&jobs), move |_, context| {
            let (queue, seen) = (Arc::clone(&queue), seen.clone());
            async move {
                // Another caller settles it first.
                queue.ack(context.receipt()).await?;
                assert_eq!(seen.warnings(), [""; 0]);
                Err::<(), _>(Failure::bury("never"))
            }
        });
        let report = report.await.expect("sound settings");
        assert_eq!((report.counts.lost, report.counts.died), (1, 0));
        assert_eq!(recorder.warnings(), ["not settled: the lease is lost"]);
        let lost = &recorder.events("not settled: the lease is lost")[0];
        assert_eq!(lost.fields["outcome"], "lost");
        assert_eq!(lost.fields["reason"], "never");
    });
}

#[test]
fn a_batch_is_one_span_with_its_messages_beneath() {
    traced(async |recorder| {
        let jobs = jobs().await;
        push_traced(&jobs, 0).await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).named("jobs");
        let report = worker.run_batches_until(8, empty(&jobs), |batch| async move {
            info!("at work");
            let odd = batch.iter().map(|(number, context)| {
                let odd = number % 2 == 1 && context.attempt() == 1;
                if odd { Err("odd") } else { Ok(()) }
            });
            odd.collect::<Vec<_>>()
        });
        report.await.expect("sound settings");
        let batches = recorder.spans("batch");
        let [(batch, span)] = &batches[..] else {
            panic!("the second attempt is of one message: {batches:?}");
        };
        assert_eq!((&*span.fields["messages"], span.parent), ("2", None));
        assert_eq!(recorder.events("at work")[0].within, Some(*batch));
        let members = recorder.spans("job").into_iter();
        let members: Vec<_> = members
            .filter(|(_, span)| span.parent == Some(*batch))
            .collect();
        let outcomes: Vec<_> = members
            .iter()
            .map(|(_, span)| &*span.fields["outcome"])
            .collect();
        assert_eq!(outcomes, ["done", "failed"]);
        assert!(members[0].1.fields.contains_key("trace_id"));
        assert!(!members[1].1.fields.contains_key("trace_id"));
    });
}

#[test]
fn a_span_is_linked_before_it_is_entered() {
    traced(async |recorder| {
        let jobs = jobs().await;
        push_traced(&jobs, 1).await;
        let seen = recorder.clone();
        let worker = Worker::new(jobs.clone()).link(move |span, headers| {
            assert_eq!(headers.trace_parent(), Some(parent()));
            let id = span.id().expect("it is enabled").into_u64();
            assert!(!seen.with(|log| log.spans[&id].entered));
            info!("linked");
        });
        let report = worker.run_until(empty(&jobs), |_, _| async {});
        let report = report.await.expect("sound settings");
        assert_eq!(report.counts.acked, 1);
        assert_eq!(recorder.events("linked").len(), 1);
        assert!(recorder.spans("job")[0].1.entered);
    });
}

#[test]
fn a_link_that_panics_fails_an_attempt_and_not_the_worker() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).retry(Backoff::fixed(SECOND));
        let worker = worker.link(|_, _| panic!("a bridge that fell down"));
        let report = worker.run_until(empty(&jobs), |_, _| async {});
        let report = report.await.expect("sound settings");
        assert_eq!((report.counts.retried, report.counts.died), (1, 1));
        assert_eq!(report.counts.panicked, 2);
        assert_eq!(recorder.spans("job")[0].1.fields["outcome"], "cut_off");
        let logged = "died after 2 attempts: panicked: a bridge that fell down";
        assert_eq!(recorder.warnings().last().map(String::as_str), Some(logged));
    });
}

#[test]
fn the_span_of_a_cut_off_handler_says_so() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).drain(SECOND).cleanup(SECOND);
        let report = worker.run_until(sleep(SECOND), |_, _| pending::<()>());
        let report = report.await.expect("sound settings");
        assert_eq!(report.counts.released, 1);
        let (_, span) = &recorder.spans("job")[0];
        assert_eq!(span.fields["outcome"], "cut_off");
        assert!(span.closed);
        let logged = &recorder.events("told to stop: shutdown")[0];
        assert_eq!(logged.level, Level::DEBUG);
    });
}

#[test]
fn a_lost_lease_is_a_warning() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).named("jobs");
        let worker = worker.lease(SECOND).max_hold(SECOND);
        let report = worker.run_until(empty(&jobs), |_, context| async move {
            if context.attempt() == 1 {
                context.stopped().await;
            }
        });
        report.await.expect("sound settings");
        let lost = &recorder.events("lease lost")[0];
        assert_eq!((lost.level, &*lost.fields["id"]), (Level::WARN, "1"));
        let outcome = &recorder.events("not settled: the lease is lost")[0];
        assert_eq!(outcome.fields["outcome"], "lost");
    });
}

/// The texts about failed attempts, at this level or above.
fn failures(recorder: &SpanRecorder) -> Vec<(Level, String)> {
    let logged = |event: recorder::Seen| {
        let text = event.fields["message"].clone();
        let is_failure = event.level <= Level::INFO && text.contains("failed");
        is_failure.then_some((event.level, text))
    };
    recorder.all().into_iter().filter_map(logged).collect()
}

#[test]
fn a_failed_attempt_and_an_undecodable_body_are_logged_without_debug() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push_all(&[1, 2]).await.expect("pushes");
        jobs.queue()
            .push_one("no number")
            .await
            .expect("pushes")
            .id()
            .unwrap();
        let worker = Worker::new(jobs.clone()).retry(Backoff::fixed(SECOND));
        let report = worker.run_until(empty(&jobs), |number, context| async move {
            if context.attempt() == 1 {
                return Err(format!("no paper in tray {number}"));
            }
            Ok(())
        });
        report.await.expect("sound settings");
        let logged = failures(&recorder);
        let [first, repeat, undecodable] = &logged[..] else {
            panic!("each once: {logged:?}");
        };
        let text = |tray| format!("attempt 1 failed: no paper in tray {tray}");
        assert_eq!(*first, (Level::WARN, text(1)));
        assert_eq!(*repeat, (Level::INFO, text(2)));
        assert_eq!(undecodable.0, Level::WARN, "another kind");
        let beginning = "attempt 1 failed: cannot decode: ";
        assert!(undecodable.1.starts_with(beginning), "{undecodable:?}");
    });
}

#[test]
fn a_queue_whose_every_message_fails_does_not_flood_the_log() {
    traced(async |recorder| {
        let queues = queue_kit::connect("memory:").await.expect("connects");
        let config = ReliableConfig::default().with_max_attempts(1_000_000);
        let jobs: Reliable<u64> = queues
            .reliable("jobs")
            .config(config)
            .open()
            .await
            .expect("opens");
        jobs.push_all(&[1, 2, 3, 4]).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).retry(Backoff::fixed(SECOND));
        let worker = worker.concurrency(4);
        let hour = sleep(60 * 60 * SECOND);
        let report = worker.run_until(hour, |_, _| async { Err::<(), _>("no paper") });
        let report = report.await.expect("sound settings");
        let logged = failures(&recorder);
        let sums = logged
            .iter()
            .filter(|(_, text)| text.starts_with("failed "));
        assert!(
            (59..=61).contains(&sums.count()),
            "one a minute: {logged:?}"
        );
        assert!(logged.len() <= 71, "{logged:?}");
        let counted = |event: recorder::Seen| event.fields.get("failures")?.parse::<u64>().ok();
        let summed: u64 = recorder.all().into_iter().filter_map(counted).sum();
        assert_eq!(summed + 10, report.counts.retried, "each is logged");
    });
}

#[test]
fn a_paused_queue_is_logged_once_and_so_is_its_resumption() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.queue().pause().await.expect("pauses");
        let worker = Worker::new(jobs.clone()).sample_every(SECOND);
        let end = async {
            sleep(30 * SECOND).await;
            jobs.queue().resume().await.expect("resumes");
            sleep(30 * SECOND).await;
        };
        worker
            .run_until(end, |_, _| async {})
            .await
            .expect("sound settings");
        let paused = recorder.events("paused: no message comes until it is resumed");
        assert_eq!((paused.len(), paused[0].level), (1, Level::INFO));
        assert_eq!(paused[0].fields["queue"], "jobs");
        assert_eq!(recorder.events("resumed").len(), 1);
    });
}

/// Has a drop that panics.
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped half-way");
    }
}

#[test]
fn a_panic_of_a_handler_that_is_cut_off_is_a_warning() {
    traced(async |recorder| {
        let jobs = jobs().await;
        jobs.push(&1).await.expect("pushes");
        let worker = Worker::new(jobs.clone()).drain(SECOND).cleanup(SECOND);
        let report = worker.run_until(sleep(SECOND), |_, _| async {
            let _fragile = Fragile;
            pending::<()>().await;
        });
        let counts = report.await.expect("sound settings").counts;
        assert_eq!((counts.released, counts.panicked), (1, 1));
        let logged = &recorder.events("panicked when it was cut off")[0];
        assert_eq!(logged.level, Level::WARN);
        assert_eq!(logged.fields["reason"], "panicked: dropped half-way");
    });
}
