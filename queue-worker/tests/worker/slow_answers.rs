//! Answers that take longer to come than their leases live.

use std::time::Duration;

use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::ground::{Ground, HOUR, MILLI, SECOND};

const MESSAGES: u64 = 40;

/// Works through messages of which each takes half a second to come, so that a lease of three
/// seconds is over before sixteen of them are there.
async fn over_a_slow_line(patience: Option<Duration>) -> Report {
    let ground = Ground::holding(MESSAGES).await;
    {
        let mut watched = ground.spy.watched();
        watched.per_message = SECOND / 2;
        watched.patience = patience;
    }
    let start = Instant::now();
    let through = async {
        let all = ground.until(|counters| counters.acked + counters.died == MESSAGES);
        tokio::time::timeout(HOUR, all).await.unwrap();
    };
    let worker = ground.worker().concurrency(16).lease(3 * SECOND);
    let report = worker
        .run_until(through, |_: u64, cx: Context| async move {
            // None begins on a message that is somebody else's by now.
            assert_eq!(cx.stop(), None);
            assert!(!cx.remaining().is_zero());
        })
        .await
        .unwrap();
    let counters = ground.counters().await;
    assert_eq!((counters.acked, counters.died), (MESSAGES, 0), "{report:?}");
    // Twenty seconds would do if all of them came but once.
    assert!(start.elapsed() < 60 * SECOND, "{:?}", start.elapsed());
    assert!(report.counts.balance(), "{report:?}");
    assert_eq!(report.counts.panicked, 0);
    assert_eq!(ground.spy.watched().dropped, 0);
    report
}

#[tokio::test(start_paused = true)]
async fn what_comes_too_late_is_asked_for_in_smaller_parts() {
    let report = over_a_slow_line(None).await;
    assert!(report.counts.lost > 0, "{report:?}");
    assert!(report.counts.started < report.counts.leased, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_given_up_on_its_way_is_asked_for_in_smaller_parts() {
    let report = over_a_slow_line(Some(6 * SECOND)).await;
    assert!(report.counts.errors > 0, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn once_answers_come_soon_it_asks_for_all_that_it_has_room_for() {
    let ground = Ground::holding(200).await;
    ground.spy.watched().per_message = SECOND;
    let shutdown = async {
        sleep(30 * SECOND).await;
        {
            let mut watched = ground.spy.watched();
            assert_eq!(watched.largest, 16);
            watched.per_message = Duration::ZERO;
        }
        sleep(10 * SECOND).await;
        ground.spy.watched().largest = 0;
        ground.push(1000).await;
        ground.empty().await;
        assert_eq!(ground.spy.watched().largest, 16);
    };
    let worker = ground.worker().concurrency(16).lease(3 * SECOND);
    let report = worker.run_until(shutdown, |_: u64, _| sleep(MILLI)).await;
    assert!(report.unwrap().counts.balance());
}
