//! Extensions: the lease that they extend, and the time from which they count.

use std::sync::{Arc, Mutex};

use queue_core::*;
use queue_worker::*;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::Fault,
};

#[tokio::test(start_paused = true)]
async fn each_handler_of_a_batch_of_heartbeats_learns_of_its_own_lease() {
    const LOST: [u64; 3] = [1, 4, 6];
    let environment = Environment::holding(8).await;
    let queue = Arc::clone(&environment.queue);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let news = Arc::clone(&seen);
    let report = environment
        .worker()
        .concurrency(8)
        .lease(9 * SECOND)
        .cleanup(HOUR)
        .run_until(environment.until(|counters| counters.acked == 8), {
            move |number: u64, cx: Context| {
                let (queue, news) = (Arc::clone(&queue), Arc::clone(&news));
                async move {
                    if LOST.contains(&number) {
                        // Another holder settles each message, a little later each.
                        sleep(number as u32 * 5 * SECOND).await;
                        queue.ack(cx.receipt()).await.unwrap();
                        assert_eq!(cx.stopped().await, Stop::LeaseLost);
                        news.lock().unwrap().push(number);
                        return;
                    }
                    let end = Instant::now() + 60 * SECOND;
                    while Instant::now() < end {
                        assert_eq!(cx.stop(), None);
                        assert!(cx.remaining() > 5900 * MILLI, "{:?}", cx.remaining());
                        sleep(100 * MILLI).await;
                    }
                }
            }
        })
        .await
        .unwrap();
    assert_eq!(*seen.lock().unwrap(), LOST);
    assert_eq!((report.counts.lost, report.counts.acked), (3, 5));
    assert_eq!((report.counts.panicked, report.counts.retried), (0, 0));
    assert_eq!(environment.counters().await.expired, 0);
}

/// Three handlers ask, two of them in one call, and one of them has lost its lease.
#[tokio::test(start_paused = true)]
async fn each_handler_that_asks_is_answered_for_its_own_lease() {
    for lost in 0..3 {
        let environment = Environment::holding(3).await;
        // Requests that come while a call is under way share the next call.
        environment.spy.watched().latency = 20 * MILLI;
        let queue = Arc::clone(&environment.queue);
        // By then the first heartbeats have notified the handler that lost its lease.
        let at = Instant::now() + 5 * SECOND;
        let report = environment
            .worker()
            .concurrency(3)
            .lease(9 * SECOND)
            .cleanup(HOUR)
            .run_until(environment.until(|counters| counters.acked == 3), {
                move |number: u64, cx: Context| {
                    let queue = Arc::clone(&queue);
                    async move {
                        if number == lost {
                            queue.ack(cx.receipt()).await.unwrap();
                            cx.stopped().await;
                        }
                        // While the first call is under way, the handler without a lease asks, and then the
                        // third handler.
                        let place = match number {
                            number if number == lost => 1,
                            0 => 0,
                            1 if lost == 0 => 0,
                            _ => 2,
                        };
                        sleep_until(at + place * 5 * MILLI).await;
                        let asked = cx.extend(100 * SECOND).await;
                        if number == lost {
                            assert_eq!(asked.unwrap_err().kind(), ErrorKind::LeaseLost);
                        } else {
                            asked.unwrap();
                            assert!(cx.remaining() > 99 * SECOND, "{:?}", cx.remaining());
                            // The lease lives as long for the backend, too.
                            sleep(80 * SECOND).await;
                            assert_eq!(cx.stop(), None);
                        }
                    }
                }
            })
            .await
            .unwrap();
        assert_eq!((report.counts.lost, report.counts.acked), (1, 2));
        assert_eq!(report.counts.panicked, 0, "{report:?}");
        assert_eq!(environment.counters().await.expired, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_and_its_extensions_count_from_the_call_and_not_from_its_answer() {
    let environment = Environment::holding(1).await;
    // One second to the backend, and one second back.
    environment.spy.watched().latency = 2 * SECOND;
    let worker = environment.worker().lease(9 * SECOND);
    let handler = |_: u64, cx: Context| async move {
        let first = cx.remaining();
        assert!(first <= 7 * SECOND && first > 6900 * MILLI, "{first:?}");
        let end = Instant::now() + 30 * SECOND;
        while Instant::now() < end {
            assert!(cx.remaining() <= 7 * SECOND, "{:?}", cx.remaining());
            sleep(10 * MILLI).await;
        }
        cx.extend(100 * SECOND).await.unwrap();
        let left = cx.remaining();
        assert!(left <= 98 * SECOND && left > 97 * SECOND, "{left:?}");
    };
    let report = environment.work_off(worker, handler).await;
    assert_eq!((report.counts.acked, report.counts.panicked), (1, 0));
    assert!(report.counts.heartbeats > 5, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn an_extension_that_is_shorter_than_the_lease_shortens_nothing() {
    let environment = Environment::holding(1).await;
    // No heartbeat may repair it before the handler checks.
    environment.spy.watched().latency = 20 * MILLI;
    let spy = environment.spy.clone();
    let worker = environment.worker().lease(9 * SECOND);
    let handler = move |_: u64, cx: Context| {
        let spy = spy.clone();
        async move {
            cx.extend(50 * MILLI).await.unwrap();
            assert!(cx.remaining() > 8900 * MILLI, "{:?}", cx.remaining());
            // No later heartbeat either.
            spy.watched().fault = Some(Fault::NoExtend);
            sleep(8 * SECOND).await;
            assert_eq!(cx.stop(), None);
        }
    };
    let report = environment.work_off(worker, handler).await;
    let counts = report.counts;
    assert_eq!((counts.acked, counts.lost, counts.panicked), (1, 0, 0));
    assert_eq!(environment.counters().await.expired, 0);
}

#[tokio::test(start_paused = true)]
async fn more_leases_than_go_in_one_call_are_all_kept_alive() {
    let environment = Environment::holding(300).await;
    let worker = environment.worker().concurrency(300).lease(6 * SECOND);
    let report = environment
        .work_off(worker, |_: u64, _| sleep(30 * SECOND))
        .await;
    assert_eq!((report.counts.started, report.counts.acked), (300, 300));
    assert_eq!(environment.counters().await.expired, 0);
}

/// Two handlers ask in turns, so that one of them always waits to be asked for next.
#[tokio::test(start_paused = true)]
async fn handlers_that_ask_again_and_again_delay_nobodys_heartbeat() {
    let environment = Environment::holding(3).await;
    environment.spy.watched().latency = 20 * MILLI;
    let handler = |number: u64, cx: Context| async move {
        let end = Instant::now() + 60 * SECOND;
        sleep(number as u32 * 5 * MILLI).await;
        if number < 2 {
            while Instant::now() < end {
                cx.extend(9 * SECOND).await.unwrap();
            }
        }
        sleep_until(end).await;
        assert_eq!(cx.stop(), None);
    };
    let worker = environment.worker().concurrency(3).lease(9 * SECOND);
    let report = worker.run_until(environment.empty(), handler).await;
    let counts = report.unwrap().counts;
    assert_eq!((counts.acked, counts.lost, counts.panicked), (3, 0, 0));
    assert_eq!(environment.counters().await.expired, 0);
}

#[tokio::test(start_paused = true)]
async fn handlers_that_ask_for_different_times_at_once_get_each_its_own() {
    let environment = Environment::holding(3).await;
    environment.spy.watched().latency = 20 * MILLI;
    let at = Instant::now() + SECOND;
    let handler = move |number: u64, cx: Context| async move {
        // The second and the third ask while the first one's call is under way.
        sleep_until(at + number as u32 * 5 * MILLI).await;
        let lease_time = [100 * SECOND, 50 * SECOND, 100 * SECOND][number as usize];
        cx.extend(lease_time).await.unwrap();
        let left = cx.remaining();
        assert!(
            left <= lease_time && left > lease_time - SECOND,
            "{number}: {left:?}"
        );
    };
    let worker = environment.worker().concurrency(3).lease(9 * SECOND);
    let report = worker.run_until(environment.empty(), handler).await;
    let counts = report.unwrap().counts;
    assert_eq!((counts.acked, counts.panicked), (3, 0));
}
