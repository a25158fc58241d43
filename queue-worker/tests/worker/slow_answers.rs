//! Slow answers that come after their leases have expired.

use std::time::Duration;

use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::environment::{Environment, HOUR, MILLI, SECOND};

const MESSAGES: u64 = 40;

/// Works through messages that take half a second each to come, so that a lease of three seconds is
/// over before sixteen of them are there.
async fn over_a_slow_line(patience: Option<Duration>) -> Report {
    let environment = Environment::holding(MESSAGES).await;
    {
        let mut watched = environment.spy.watched();
        watched.per_message = SECOND / 2;
        watched.patience = patience;
    }
    let start = Instant::now();
    let through = async {
        let all = environment.until(|counters| counters.acked + counters.died == MESSAGES);
        tokio::time::timeout(HOUR, all).await.unwrap();
    };
    let worker = environment.worker().concurrency(16).lease(3 * SECOND);
    let report = worker
        .run_until(through, |_: u64, cx: Context| async move {
            // No handler begins on a message whose lease is over.
            assert_eq!(cx.stop(), None);
            assert!(!cx.remaining().is_zero());
        })
        .await
        .unwrap();
    let counters = environment.counters().await;
    assert_eq!((counters.acked, counters.died), (MESSAGES, 0), "{report:?}");
    // Twenty seconds would be enough if each message came only once.
    assert!(start.elapsed() < 60 * SECOND, "{:?}", start.elapsed());
    assert!(report.counts.balance(), "{report:?}");
    assert_eq!(report.counts.panicked, 0);
    assert_eq!(environment.spy.watched().dropped, 0);
    report
}

#[tokio::test(start_paused = true)]
async fn messages_that_come_too_late_are_leased_in_smaller_batches() {
    let report = over_a_slow_line(None).await;
    assert!(report.counts.lost > 0, "{report:?}");
    assert!(report.counts.started < report.counts.leased, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn messages_given_up_under_way_are_leased_in_smaller_batches() {
    let report = over_a_slow_line(Some(6 * SECOND)).await;
    assert!(report.counts.errors > 0, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn once_answers_come_soon_it_asks_for_all_that_it_has_room_for() {
    let environment = Environment::holding(200).await;
    environment.spy.watched().per_message = SECOND;
    let shutdown = async {
        sleep(30 * SECOND).await;
        {
            let mut watched = environment.spy.watched();
            assert_eq!(watched.largest, 16);
            watched.per_message = Duration::ZERO;
        }
        sleep(10 * SECOND).await;
        environment.spy.watched().largest = 0;
        environment.push(1000).await;
        environment.empty().await;
        assert_eq!(environment.spy.watched().largest, 16);
    };
    let worker = environment.worker().concurrency(16).lease(3 * SECOND);
    let report = worker.run_until(shutdown, |_: u64, _| sleep(MILLI)).await;
    assert!(report.unwrap().counts.balance());
}
