//! Handlers that get many messages at once.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::Fault,
};

#[tokio::test(start_paused = true)]
async fn each_message_is_settled_by_its_own_verdict() {
    let environment = Environment::new().await;
    let bodies = ["0", "1", "poison", "2", "3"].map(Push::new);
    environment.queue.push(&bodies).await.unwrap();
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    let report = environment
        .worker()
        .retry(Backoff::fixed(SECOND))
        .bury_undecodable()
        .run_batches_until(
            10,
            environment.empty(),
            move |batch: Vec<(u64, Context)>| {
                seen.lock().unwrap().push(batch.len());
                let verdict = |(number, cx): &(u64, Context)| match number {
                    1 if cx.attempt() == 1 => Err(Failure::new("again")),
                    2 => Err(Failure::bury("never")),
                    _ => Ok(()),
                };
                let verdicts: Vec<_> = batch.iter().map(verdict).collect();
                async { verdicts }
            },
        )
        .await
        .unwrap();
    assert_eq!(*sizes.lock().unwrap(), [4, 1]);
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.retried, counters.died), (3, 1, 2));
    assert_eq!(report.counts.undecodable, 1);
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_succeeds_may_have_verdicts_of_its_own() {
    let environment = Environment::holding(3).await;
    environment
        .worker()
        .run_batches_until(
            10,
            environment.empty(),
            |batch: Vec<(u64, Context)>| async move {
                let verdict = |(number, _): &(u64, Context)| match number {
                    1 => Err(Failure::bury("never")),
                    _ => Ok(()),
                };
                Ok::<_, Failure>(batch.iter().map(verdict).collect::<Vec<_>>())
            },
        )
        .await
        .unwrap();
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.died), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_batch_takes_one_slot_and_has_no_more_than_its_size() {
    let environment = Environment::holding(100).await;
    let running = Arc::new(Mutex::new((0, 0, 0)));
    let count = Arc::clone(&running);
    environment
        .worker()
        .concurrency(2)
        .run_batches_until(
            10,
            environment.empty(),
            move |batch: Vec<(u64, Context)>| {
                let count = Arc::clone(&count);
                async move {
                    {
                        let mut count = count.lock().unwrap();
                        count.0 += 1;
                        count.1 = count.1.max(count.0);
                        count.2 = count.2.max(batch.len());
                    }
                    sleep(10 * MILLI).await;
                    count.lock().unwrap().0 -= 1;
                }
            },
        )
        .await
        .unwrap();
    assert_eq!(*running.lock().unwrap(), (0, 2, 10));
    assert_eq!(environment.counters().await.acked, 100);
    let watched = environment.spy.watched();
    assert_eq!(watched.largest, 20);
    assert!(watched.calls() <= 12, "{watched:?}");
}

#[tokio::test(start_paused = true)]
async fn a_broken_batch_is_a_failed_attempt_of_each() {
    let environment = Environment::new().await;
    let bodies = ["0", "poison", "1"].map(Push::new);
    environment.queue.push(&bodies).await.unwrap();
    let report = environment
        .worker()
        .timeout(5 * SECOND)
        .retry(Backoff::fixed(SECOND))
        .run_batches_until(
            3,
            environment.empty(),
            |batch: Vec<(u64, Context)>| async move {
                match batch[0].1.attempt() {
                    1 => panic!("the batch is broken"),
                    2 => sleep(HOUR).await,
                    _ => {}
                }
            },
        )
        .await
        .unwrap();
    let counters = environment.counters().await;
    // Two attempts each of the others, and four of the message that never decodes.
    assert_eq!((counters.acked, counters.retried, counters.died), (2, 8, 1));
    assert_eq!((report.counts.panicked, report.counts.timed_out), (2, 2));
    assert_eq!(report.counts.undecodable, 5);
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn messages_without_a_verdict_failed() {
    let environment = Environment::holding(3).await;
    let report = environment
        .worker()
        .retry(Backoff::fixed(SECOND))
        .run_batches_until(3, environment.empty(), |_: Vec<(u64, Context)>| async {
            vec![Verdict::Done]
        })
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.retried), (3, 3));
}

/// A lease that another caller ended affects only its own message. The batch continues beyond the time
/// after which a handler without any lease would be cut off, and its other results count.
#[tokio::test(start_paused = true)]
pub(crate) async fn a_batch_of_which_one_lease_is_lost_goes_on_and_settles_the_others() {
    let environment = Environment::holding(4).await;
    let queue = Arc::clone(&environment.queue);
    let stops = Arc::new(Mutex::new(BTreeMap::new()));
    let seen = Arc::clone(&stops);
    let worker = environment.worker().lease(3 * SECOND).cleanup(SECOND);
    let report =
        worker.run_batches_until(4, environment.empty(), move |batch: Vec<(u64, Context)>| {
            let (queue, seen) = (Arc::clone(&queue), Arc::clone(&seen));
            async move {
                let stopped = &batch[2].1;
                let stop = Settlement::bury(stopped.receipt(), "stopped");
                queue.settle(&[stop]).await.unwrap();
                assert_eq!(stopped.stopped().await, Stop::LeaseLost);
                assert!(stopped.extend(SECOND).await.is_err());
                sleep(20 * SECOND).await;
                let stops = batch.iter().map(|(number, cx)| (*number, cx.stop()));
                seen.lock().unwrap().extend(stops);
                let verdict = |(number, _): &(u64, Context)| match number {
                    1 => Err(Failure::bury("never")),
                    _ => Ok(()),
                };
                batch.iter().map(verdict).collect::<Vec<_>>()
            }
        });
    let counts = report.await.unwrap().counts;
    let lost = Some(Stop::LeaseLost);
    let expected = [(0, None), (1, None), (2, lost), (3, None)];
    assert_eq!(*stops.lock().unwrap(), BTreeMap::from(expected));
    assert_eq!((counts.acked, counts.died, counts.lost), (2, 1, 1));
    assert!(counts.balance(), "{counts:?}");
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.died, counters.expired), (2, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_cut_off_once_its_last_lease_is_lost() {
    let environment = Environment::holding(2).await;
    let queue = Arc::clone(&environment.queue);
    let ran = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ran);
    let worker = environment.worker().lease(3 * SECOND).cleanup(5 * SECOND);
    let report =
        worker.run_batches_until(2, environment.empty(), move |batch: Vec<(u64, Context)>| {
            let (queue, seen) = (Arc::clone(&queue), Arc::clone(&seen));
            async move {
                for (number, cx) in &batch {
                    queue.ack(cx.receipt()).await.unwrap();
                    cx.stopped().await;
                    sleep(4 * SECOND).await;
                    seen.lock().unwrap().push(*number);
                }
                sleep(4 * SECOND).await;
                seen.lock().unwrap().push(99);
            }
        });
    let counts = report.await.unwrap().counts;
    assert_eq!(counts.lost, 2);
    assert_eq!(*ran.lock().unwrap(), [0, 1]);
}

/// After a lost answer the worker asks for fewer messages than a batch may have; the queue still has its
/// slot.
#[tokio::test(start_paused = true)]
async fn a_queue_of_large_batches_is_served_after_a_lost_answer() {
    let environment = Environment::holding(256).await;
    environment.spy.watched().fault = Some(Fault::Mute);
    let spy = environment.spy.clone();
    let recovery = async move {
        sleep(SECOND).await;
        spy.watched().fault = None;
    };
    let worker = environment.worker().lease(6 * SECOND);
    let handler = |_: Vec<(u64, Context)>| async {};
    let run = worker.run_batches_until(128, environment.empty(), handler);
    let (report, ()) = tokio::join!(run, recovery);
    assert_eq!(report.unwrap().counts.acked, 256);
}

/// The sizes of all batches, and when each began.
type Begins = Arc<Mutex<Vec<(usize, std::time::Duration)>>>;

fn begins(log: &Begins) -> impl Fn(Vec<(u64, Context)>) -> std::future::Ready<()> + use<> {
    let (log, start) = (Arc::clone(log), tokio::time::Instant::now());
    move |batch| {
        log.lock().unwrap().push((batch.len(), start.elapsed()));
        std::future::ready(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_starts_when_it_is_full_or_its_time_is_over() {
    let environment = Environment::new().await;
    let log = Begins::default();
    let worker = environment.worker().batch_wait(10 * SECOND);
    let push = async {
        // Four in a time, one each second; then two that nothing follows; then twelve at once.
        for _ in 0..6 {
            environment.push(1).await;
            sleep(SECOND).await;
        }
        sleep(24 * SECOND).await;
        environment.push(12).await;
        sleep(SECOND).await;
        environment.empty().await;
    };
    let report = worker
        .run_batches_until(4, push, begins(&log))
        .await
        .unwrap();
    assert_eq!(report.counts.acked, 18);
    let begins = log.lock().unwrap().clone();
    let (sizes, times): (Vec<_>, Vec<_>) = begins.iter().copied().unzip();
    assert_eq!(sizes, [4, 2, 4, 4, 4]);
    let near = |time: std::time::Duration, seconds| {
        assert!(
            time >= seconds * SECOND && time < seconds * SECOND + 100 * MILLI,
            "{times:?}"
        );
    };
    for (time, seconds) in times.iter().zip([3, 14, 30, 30, 30]) {
        near(*time, seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn the_slots_beside_a_waiting_batch_serve_others() {
    let environment = Environment::holding(1).await;
    let other = Environment::holding(3).await;
    let log = Begins::default();
    let workers = Workers::by_weight()
        .concurrency(2)
        .add_batches(4, environment.route().batch_wait(10 * SECOND), begins(&log))
        .add(other.route(), |_: u64, _| sleep(SECOND));
    let done = async {
        other.empty().await;
        environment.empty().await;
    };
    let began = tokio::time::Instant::now();
    let report = workers.run_until(done).await.unwrap();
    assert_eq!(report.counts.acked, 4);
    assert_eq!(log.lock().unwrap().len(), 1);
    let took = began.elapsed();
    assert!(took >= 10 * SECOND && took < 11 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_releases_a_waiting_batch_at_once() {
    let environment = Environment::holding(3).await;
    let log = Begins::default();
    let worker = environment.worker().batch_wait(10 * SECOND);
    let report = worker
        .run_batches_until(4, sleep(SECOND), begins(&log))
        .await
        .unwrap();
    assert_eq!((report.counts.released, report.drained), (3, true));
    assert!(
        report.counts.balance() && report.shutdown < SECOND,
        "{report:?}"
    );
    assert_eq!(
        (
            environment.counters().await.depth.ready,
            log.lock().unwrap().len()
        ),
        (3, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_waits_longer_than_half_a_lease_is_refused() {
    let environment = Environment::holding(1).await;
    let worker = environment
        .worker()
        .lease(10 * SECOND)
        .batch_wait(6 * SECOND);
    let run = worker.run_batches_until(4, sleep(SECOND), |_: Vec<(u64, Context)>| async {});
    let error = run.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.to_string().contains("batch_wait of 6000 ms"),
        "{error}"
    );
}
