//! A worker's settings, also those of its routes, rates, back-offs, failures and contexts.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_worker::*;
use tokio::time::sleep;

use crate::row::{Refuse, Row, Serve, in_time, row, times};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn rows() -> Vec<Row> {
    let parts = [
        of_the_worker(),
        of_a_rate(),
        of_a_route(),
        of_a_queue(),
        of_a_backoff(),
        of_a_job(),
        of_handlers(),
    ];
    parts.into_iter().flatten().collect()
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
        times("job: timeout", Refuse("a timeout of 0"), Serve, |limit| {
            with_router(JobSettings::new().timeout(limit))
        }),
        row(
            "job: at_most",
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
            "control: set_concurrency",
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
            "settings: concurrency",
            (0, Refuse("a concurrency of 0")),
            (usize::MAX, Serve),
            |handlers| worked(|worker| worker.concurrency(handlers)),
        ),
        times("settings: drain", Serve, Serve, |grace| {
            worked(|worker| worker.drain(grace))
        }),
        times("settings: cleanup", Serve, Serve, |time| {
            worked(|worker| worker.cleanup(time))
        }),
        times("settings: linger", Serve, Serve, |time| {
            worked(|worker| worker.linger(time))
        }),
        times("settings: poll", least, Serve, |interval| {
            worked(|worker| worker.poll(interval))
        }),
        row(
            "settings: poll",
            (Duration::from_nanos(1), least),
            (Duration::from_millis(1), Serve),
            |interval| worked(|worker| worker.poll(interval)),
        ),
        times("settings: sample_every", least, Serve, |interval| {
            worked(|worker| worker.sample_every(interval))
        }),
        row(
            "settings: sample_every",
            (Duration::from_nanos(1), least),
            (Duration::from_millis(1), Serve),
            |interval| worked(|worker| worker.sample_every(interval)),
        ),
    ]
}

fn of_a_rate() -> Vec<Row> {
    vec![
        times(
            "rate: new",
            Refuse("a rate of 1 messages per 0ns"),
            Refuse("100 years"),
            |per| worked(|worker| worker.rate(Rate::new(1, per))),
        ),
        row(
            "rate: new",
            (0, Refuse("a rate of 0 messages")),
            (u32::MAX, Serve),
            |messages| worked(|worker| worker.rate(Rate::new(messages, 60 * SECOND))),
        ),
        row(
            "rate: with_burst",
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

fn of_a_route() -> Vec<Row> {
    let batches = Refuse("1 to 128 messages");
    vec![
        row(
            "route: weight",
            (0, Refuse("a weight of 0")),
            (u32::MAX, Serve),
            |weight| routed(|route| route.weight(weight), None),
        ),
        row(
            "route: at_most",
            (0, Refuse("at most 0 slots")),
            (usize::MAX, Serve),
            |slots| routed(|route| route.at_most(slots), None),
        ),
        row(
            "route: add_batches",
            (0, batches),
            (usize::MAX, batches),
            |max| routed(|route| route, Some(max)),
        ),
        row(
            "single: run_batches_until",
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
    ]
}

/// Settings of a queue that a worker serves.
fn of_a_queue() -> Vec<Row> {
    let lease = Refuse("a lease of");
    vec![
        times("settings: lease", lease, lease, |lease_time| {
            worked(|worker| worker.lease(lease_time))
        }),
        times(
            "settings: timeout",
            Refuse("a timeout of 0"),
            Serve,
            |limit| worked(|worker| worker.timeout(limit)),
        ),
        times("settings: max_hold", Serve, Serve, |hold| {
            worked(|worker| worker.max_hold(hold))
        }),
        times(
            "settings: batch_wait",
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
            "settings: keep_results",
            Refuse("the time of a result"),
            Refuse("the time of a result"),
            |time| worked(|worker| worker.keep_results(time, NonZeroU32::MIN)),
        ),
    ]
}

fn of_a_backoff() -> Vec<Row> {
    vec![
        times("backoff: fixed", Serve, Serve, |delay| {
            delayed(&Backoff::fixed(delay))
        }),
        times("backoff: exponential", Serve, Serve, |first| {
            delayed(&Backoff::exponential(first).with_longest(Duration::MAX))
        }),
        times("backoff: with_longest", Serve, Serve, |longest| {
            delayed(&Backoff::exponential(SECOND).with_longest(longest))
        }),
        times("backoff: custom", Serve, Serve, |delay| {
            delayed(&Backoff::custom(move |_, _| delay))
        }),
        row("backoff: delay", (0, Serve), (u32::MAX, Serve), |attempt| {
            let failure = Failure::new("no");
            let delay = Backoff::exponential(SECOND).delay(attempt, &failure, u64::MAX);
            limits::delay_millis(delay).map(drop)
        }),
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
        times("verdict: retry_after", Serve, Serve, |delay| {
            failed(Failure::retry_after("later", delay))
        }),
        // A message with a zero defer comes again at once, for ever.
        row(
            "verdict: defer",
            (Duration::from_nanos(1), Serve),
            (Duration::MAX, Serve),
            |delay| failed(Failure::defer("busy", delay)),
        ),
        times("context: extend", lease, lease, |lease_time| {
            in_time(async {
                let cx = Context::for_test().build();
                cx.extend(lease_time).await
            })
        }),
        row("test: attempt", (0, Serve), (u32::MAX, Serve), |attempt| {
            in_time(async {
                assert_eq!(
                    Context::for_test().attempt(attempt).build().attempt(),
                    attempt
                );
                Ok(())
            })
        }),
        times("test: lease", Serve, Serve, |lease_time| {
            in_time(async {
                let cx = Context::for_test().lease(lease_time).build();
                assert!(cx.remaining() <= limits::MAX_LEASE);
                Ok(())
            })
        }),
        times("test: timeout", Serve, Serve, |limit| {
            in_time(async {
                let cx = Context::for_test().timeout(limit).build();
                assert_eq!(cx.cut_off().is_some(), limit.is_zero());
                Ok(())
            })
        }),
    ]
}
