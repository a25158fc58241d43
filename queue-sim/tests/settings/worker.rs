//! A worker's settings, also those of its routes, rates, back-offs, failures and contexts.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_worker::*;
use tokio::time::sleep;

use crate::row::{Refuse, Row, Serve, in_time, row, times};

const SECOND: Duration = Duration::from_secs(1);

const BACKOFF: &str = "queue-worker/src/backoff.rs";
const CONTEXT: &str = "queue-worker/src/context.rs";
const CONTROL: &str = "queue-worker/src/control.rs";
const JOB: &str = "queue-worker/src/job_type.rs";
const RATE: &str = "queue-worker/src/rate.rs";
const ROUTE: &str = "queue-worker/src/route.rs";
const SETTINGS: &str = "queue-worker/src/settings.rs";
const TEST: &str = "queue-worker/src/test_context.rs";
const VERDICT: &str = "queue-worker/src/verdict.rs";

pub(crate) fn rows() -> Vec<Row> {
    [of_the_worker(), of_a_queue(), of_a_job(), of_handlers()]
        .into_iter()
        .flatten()
        .collect()
}

/// A queue with twelve messages.
async fn jobs() -> Result<Reliable<u64>> {
    let jobs = Queues::new(MemoryBackend::new())
        .reliable("jobs")
        .open()
        .await?;
    jobs.push_all(&(0..12).collect::<Vec<_>>()).await?;
    Ok(jobs)
}

/// Runs a worker for a minute: by its number, a handler ends, fails, loses its lease or is stopped.
fn worked(set: impl FnOnce(Worker<u64>) -> Worker<u64>) -> Result<()> {
    in_time(async {
        let jobs = jobs().await?;
        let queue = Arc::clone(jobs.queue());
        let worker = set(Worker::new(jobs).concurrency(4).lease(3 * SECOND));
        let report = worker.run_until(sleep(60 * SECOND), move |number, cx: Context| {
            let queue = Arc::clone(&queue);
            async move {
                match number % 4 {
                    0 => Ok(()),
                    1 => Err("failed"),
                    2 => {
                        queue.ack(cx.receipt()).await.map_err(|_| "lost")?;
                        cx.stopped().await;
                        Ok(())
                    }
                    _ => {
                        sleep(5 * SECOND).await;
                        Ok(())
                    }
                }
            }
        });
        balanced(&report.await?);
        Ok(())
    })
}

#[track_caller]
fn balanced(report: &Report) {
    assert!(report.counts.balance(), "{report:?}");
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Summary {
    number: u64,
}

impl Job for Summary {
    const NAME: &'static str = "summary";
}

/// Runs a worker for a minute on jobs of a type with these settings: some end, fail, or take five seconds.
fn with_router(settings: JobSettings) -> Result<()> {
    in_time(async {
        let queues = Queues::new(MemoryBackend::new());
        let jobs = queues.reliable("jobs").open::<Jobs>().await?;
        for number in 0..12 {
            jobs.push(&Summary { number }).await?;
        }
        let router = Router::new().on_with(settings, |job: Summary, _| async move {
            match job.number % 3 {
                0 => return Err("failed"),
                1 => sleep(5 * SECOND).await,
                _ => {}
            }
            Ok(())
        });
        let worker = Worker::new(jobs).concurrency(4).router(router);
        balanced(&worker.run_until(sleep(60 * SECOND)).await?);
        Ok(())
    })
}

fn of_a_job() -> Vec<Row> {
    vec![
        times((JOB, "timeout"), Refuse("a timeout of 0"), Serve, |limit| {
            with_router(JobSettings::new().timeout(limit))
        }),
        row(
            (JOB, "at_most"),
            (0, Refuse("at most 0 jobs")),
            (usize::MAX, Serve),
            |jobs| with_router(JobSettings::new().at_most(jobs)),
        ),
    ]
}

fn of_the_worker() -> Vec<Row> {
    let least = Refuse("at least 1 ms");
    vec![
        row(
            (CONTROL, "set_concurrency"),
            (0, Refuse("a concurrency of 0")),
            (usize::MAX, Serve),
            |handlers| {
                let mut set = Ok(());
                worked(|worker| {
                    set = worker.control().set_concurrency(handlers);
                    worker
                })?;
                set
            },
        ),
        row(
            (SETTINGS, "concurrency"),
            (0, Refuse("a concurrency of 0")),
            (usize::MAX, Serve),
            |handlers| worked(|worker| worker.concurrency(handlers)),
        ),
        times((SETTINGS, "drain"), Serve, Serve, |grace| {
            worked(|worker| worker.drain(grace))
        }),
        times((SETTINGS, "cleanup"), Serve, Serve, |time| {
            worked(|worker| worker.cleanup(time))
        }),
        times((SETTINGS, "linger"), Serve, Serve, |time| {
            worked(|worker| worker.linger(time))
        }),
        times((SETTINGS, "poll"), least, Serve, |interval| {
            worked(|worker| worker.poll(interval))
        }),
        row(
            (SETTINGS, "poll"),
            (Duration::from_nanos(1), least),
            (Duration::from_millis(1), Serve),
            |interval| worked(|worker| worker.poll(interval)),
        ),
        times((SETTINGS, "sample_every"), least, Serve, |interval| {
            worked(|worker| worker.sample_every(interval))
        }),
        row(
            (SETTINGS, "sample_every"),
            (Duration::from_nanos(1), least),
            (Duration::from_millis(1), Serve),
            |interval| worked(|worker| worker.sample_every(interval)),
        ),
        times(
            (RATE, "new"),
            Refuse("a rate of 1 messages per 0ns"),
            Refuse("100 years"),
            |per| worked(|worker| worker.rate(Rate::new(1, per))),
        ),
        row(
            (RATE, "new"),
            (0, Refuse("a rate of 0 messages")),
            (u32::MAX, Serve),
            |messages| worked(|worker| worker.rate(Rate::new(messages, 60 * SECOND))),
        ),
        row(
            (RATE, "with_burst"),
            (0, Refuse("0 at once")),
            (u32::MAX, Refuse("4294967295 at once")),
            |burst| {
                let rate = Rate::new(10, 60 * SECOND).with_burst(burst);
                worked(|worker| worker.rate(rate))
            },
        ),
    ]
}

/// Serves this route beside another one, each handler a message or a batch.
fn routed(set: impl FnOnce(Route<u64>) -> Route<u64>, batch: Option<usize>) -> Result<()> {
    in_time(async {
        let (first, second) = (jobs().await?, jobs().await?);
        let route = set(Route::new(first.clone()));
        let workers = Workers::by_weight().concurrency(4);
        let workers = workers.add(Route::new(second.clone()), |_: u64, _| sleep(SECOND));
        let workers = match batch {
            None => workers.add(route, |_: u64, _| sleep(SECOND)),
            Some(max) => workers.add_batches(max, route, |_: Vec<(u64, Context)>| sleep(SECOND)),
        };
        balanced(&workers.run_until(sleep(60 * SECOND)).await?);
        for queue in [first, second] {
            assert_eq!(queue.queue().depth().await?.occupied(), 0);
        }
        Ok(())
    })
}

fn of_a_queue() -> Vec<Row> {
    let batches = Refuse("1 to 128 messages");
    let lease = Refuse("a lease of");
    vec![
        row(
            (ROUTE, "weight"),
            (0, Refuse("a weight of 0")),
            (u32::MAX, Serve),
            |weight| routed(|route| route.weight(weight), None),
        ),
        row(
            (ROUTE, "at_most"),
            (0, Refuse("at most 0 slots")),
            (usize::MAX, Serve),
            |slots| routed(|route| route.at_most(slots), None),
        ),
        row(
            (ROUTE, "add_batches"),
            (0, batches),
            (usize::MAX, batches),
            |max| routed(|route| route, Some(max)),
        ),
        row(
            ("queue-worker/src/single.rs", "run_batches_until"),
            (0, batches),
            (usize::MAX, batches),
            |max| {
                in_time(async {
                    let handler = |_: Vec<(u64, Context)>| async {};
                    let worker = Worker::new(jobs().await?);
                    worker
                        .run_batches_until(max, sleep(SECOND), handler)
                        .await
                        .map(drop)
                })
            },
        ),
        times((SETTINGS, "lease"), lease, lease, |lease_time| {
            worked(|worker| worker.lease(lease_time))
        }),
        times(
            (SETTINGS, "timeout"),
            Refuse("a timeout of 0"),
            Serve,
            |limit| worked(|worker| worker.timeout(limit)),
        ),
        times((SETTINGS, "max_hold"), Serve, Serve, |hold| {
            worked(|worker| worker.max_hold(hold))
        }),
        times(
            (SETTINGS, "batch_wait"),
            Serve,
            Refuse("longer than half of a lease"),
            |longest| {
                in_time(async {
                    let worker = Worker::new(jobs().await?).batch_wait(longest);
                    let handler = |_: Vec<(u64, Context)>| async {};
                    let report = worker.run_batches_until(5, sleep(60 * SECOND), handler);
                    balanced(&report.await?);
                    Ok(())
                })
            },
        ),
        times(
            (SETTINGS, "keep_results"),
            Refuse("the time of a result"),
            Refuse("the time of a result"),
            |time| worked(|worker| worker.keep_results(time, NonZeroU32::MIN)),
        ),
        times((BACKOFF, "fixed"), Serve, Serve, |delay| {
            delayed(&Backoff::fixed(delay))
        }),
        times((BACKOFF, "exponential"), Serve, Serve, |first| {
            delayed(&Backoff::exponential(first).with_longest(Duration::MAX))
        }),
        times((BACKOFF, "with_longest"), Serve, Serve, |longest| {
            delayed(&Backoff::exponential(SECOND).with_longest(longest))
        }),
        times((BACKOFF, "custom"), Serve, Serve, |delay| {
            delayed(&Backoff::custom(move |_, _| delay))
        }),
        row(
            (BACKOFF, "delay"),
            (0, Serve),
            (u32::MAX, Serve),
            |attempt| {
                let failure = Failure::new("no");
                let delay = Backoff::exponential(SECOND).delay(attempt, &failure, u64::MAX);
                limits::delay_millis(delay).map(drop)
            },
        ),
    ]
}

/// The back-off's delays, and a worker with it.
fn delayed(backoff: &Backoff) -> Result<()> {
    for attempt in [1, 40] {
        limits::delay_millis(backoff.delay(attempt, &Failure::new("no"), 0))?;
    }
    worked(|worker| worker.retry(backoff.clone()))
}

/// Lets a handler return this failure.
fn failed(failure: Failure) -> Result<()> {
    in_time(async {
        let jobs = jobs().await?;
        let handler = move |_: u64, cx: Context| {
            let failure = failure.clone();
            let again = cx.attempt() > 1 || cx.id().get() > 1;
            async move { if again { Ok(()) } else { Err(failure) } }
        };
        let worker = Worker::new(jobs.clone()).poll(SECOND);
        let report = worker.run_until(sleep(SECOND), handler).await?;
        balanced(&report);
        // A settlement that the backend refuses is no outcome.
        assert_eq!(report.counts.errors, 0, "{report:?}");
        Ok(())
    })
}

fn of_handlers() -> Vec<Row> {
    let lease = Refuse("a lease of");
    vec![
        times((VERDICT, "retry_after"), Serve, Serve, |delay| {
            failed(Failure::retry_after("later", delay))
        }),
        // A message with a zero defer comes again at once, for ever.
        row(
            (VERDICT, "defer"),
            (Duration::from_nanos(1), Serve),
            (Duration::MAX, Serve),
            |delay| failed(Failure::defer("busy", delay)),
        ),
        times((CONTEXT, "extend"), lease, lease, |lease_time| {
            in_time(async {
                let cx = Context::for_test().build();
                cx.extend(lease_time).await
            })
        }),
        row(
            (TEST, "attempt"),
            (0, Serve),
            (u32::MAX, Serve),
            |attempt| {
                in_time(async {
                    assert_eq!(
                        Context::for_test().attempt(attempt).build().attempt(),
                        attempt
                    );
                    Ok(())
                })
            },
        ),
        times((TEST, "lease"), Serve, Serve, |lease_time| {
            in_time(async {
                let cx = Context::for_test().lease(lease_time).build();
                assert!(cx.remaining() <= limits::MAX_LEASE);
                Ok(())
            })
        }),
        times((TEST, "timeout"), Serve, Serve, |limit| {
            in_time(async {
                let cx = Context::for_test().timeout(limit).build();
                assert_eq!(cx.cut_off().is_some(), limit.is_zero());
                Ok(())
            })
        }),
    ]
}
