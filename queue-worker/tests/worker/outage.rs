//! A backend that fails, and comes back.

use std::time::Duration;

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::{
    ground::{Ground, HOUR, MILLI, SECOND},
    spy::{PAUSE, Trouble},
};

/// Works through 50 messages while the backend fails so from the 1st to the 61st second.
async fn through(trouble: Trouble) -> (Ground, Report, Health) {
    let ground = Ground::new().await;
    let worker = ground.worker().concurrency(4).lease(5 * SECOND).seed(3);
    let health = worker.health();
    let watch = health.clone();
    let story = async {
        sleep(SECOND).await;
        assert!(watch.is_healthy());
        ground.push(50).await;
        sleep(SECOND).await;
        ground.spy.watched().trouble = Some(trouble);
        sleep(60 * SECOND).await;
        assert!(!watch.is_healthy());
        let troubles = watch.troubles();
        assert!(troubles[0].failures > 3, "{troubles:?}");
        assert_eq!(troubles[0].error.kind(), ErrorKind::Unavailable);
        assert!(troubles[0].since.elapsed() > 50 * SECOND);
        ground.spy.watched().trouble = None;
        ground.empty().await;
        // Waiting is healthy again when it has ended well once.
        sleep(10 * SECOND).await;
        assert!(watch.is_healthy(), "{:?}", watch.troubles());
        assert!(watch.last_error().is_some());
    };
    let report = worker
        .run_until(story, |_: u64, _| sleep(600 * Duration::from_millis(1)))
        .await
        .unwrap();
    assert!(report.counts.balance(), "{report:?}");
    assert_eq!(ground.spy.watched().dropped, 0);
    (ground, report, health)
}

#[tokio::test(start_paused = true)]
async fn a_backend_that_is_down_ends_nothing_and_loses_nothing() {
    let (ground, report, _) = through(Trouble::Down).await;
    let counters = ground.counters().await;
    assert_eq!(counters.acked, 50);
    assert!(report.counts.errors > 5);
    // A minute of tries, growing to five seconds.
    assert!(report.counts.errors < 60, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn an_ack_whose_reply_was_lost_is_repeated_and_perhaps_done() {
    let (ground, report, _) = through(Trouble::Mute).await;
    let counters = ground.counters().await;
    // The few whose lease was lost with a reply came back, and none was tried to death.
    assert_eq!((counters.acked, counters.died), (50, 0));
    assert!(report.counts.unconfirmed > 0, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn where_only_leasing_fails_results_are_settled_and_tries_grow_rare() {
    let (ground, report, _) = through(Trouble::NoLease).await;
    assert_eq!(ground.counters().await.acked, 50);
    assert_eq!(report.counts.unsettled, 0);
    assert!(report.counts.errors < 60, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn without_hints_there_is_the_timer() {
    let (ground, report, _) = through(Trouble::NoHints).await;
    assert_eq!(ground.counters().await.acked, 50);
    assert!(report.counts.errors > 3, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn where_hints_are_not_allowed_health_tells_and_it_looks_at_a_bounded_pace() {
    let ground = Ground::new().await;
    ground.spy.watched().trouble = Some(Trouble::NoRight);
    let worker = ground.worker().seed(3);
    let health = worker.health();
    let story = async {
        sleep(SECOND).await;
        assert!(!health.is_healthy());
        let troubles = health.troubles();
        assert_eq!(troubles.len(), 1, "{troubles:?}");
        assert_eq!(troubles[0].error.kind(), ErrorKind::Configuration);
        let before = ground.spy.watched().calls();
        sleep(HOUR).await;
        let looks = ground.spy.watched().calls() - before;
        assert!(
            (3600 / 5..=3600 / 2).contains(&looks),
            "{looks} looks in an hour"
        );
        // Nothing is left lying for longer than a poll.
        ground.push(1).await;
        sleep(6 * SECOND).await;
        assert_eq!(ground.counters().await.acked, 1);
        assert!(!health.is_healthy());
        ground.spy.watched().trouble = None;
        sleep(12 * SECOND).await;
        assert!(health.is_healthy(), "{:?}", health.troubles());
    };
    worker.run_until(story, |_: u64, _| async {}).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn it_pauses_as_long_as_the_backend_asks() {
    let ground = Ground::new().await;
    ground.spy.watched().trouble = Some(Trouble::Busy);
    let worker = ground.worker().seed(3);
    let health = worker.health();
    let story = async {
        sleep(PAUSE - SECOND / 10).await;
        assert_eq!(health.counts().errors, 1, "one try, and a pause");
        sleep(20 * SECOND).await;
        let errors = health.counts().errors;
        assert!((4..=10).contains(&errors), "{errors} tries in 22 s");
    };
    worker.run_until(story, |_: u64, _| async {}).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn heartbeats_are_tried_again_in_time_whatever_pause_the_backend_asks_for() {
    let ground = Ground::holding(1).await;
    let spy = ground.spy.clone();
    let busy = async {
        sleep(100 * MILLI).await;
        spy.watched().trouble = Some(Trouble::Busy);
        // From the heartbeat at 0.8 s until 0.8 s before the lease is over.
        sleep(1500 * MILLI).await;
        spy.watched().trouble = None;
        ground.empty().await;
    };
    let report = ground
        .worker()
        .lease(2400 * MILLI)
        .run_until(busy, |_: u64, _| sleep(10 * SECOND))
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.lost), (1, 0));
    assert!(report.counts.errors > 3, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn heartbeats_that_failed_trouble_nobody_once_no_handler_needs_them() {
    let ground = Ground::holding(1).await;
    ground.spy.watched().trouble = Some(Trouble::NoExtend);
    let worker = ground.worker().lease(6 * SECOND);
    let health = worker.health();
    let story = async {
        sleep(4 * SECOND).await;
        assert!(!health.is_healthy());
        ground.empty().await;
        sleep(SECOND).await;
        assert!(health.is_healthy(), "{:?}", health.troubles());
    };
    let report = worker
        .run_until(story, |_: u64, _| sleep(5 * SECOND))
        .await
        .unwrap();
    assert_eq!((report.counts.acked, report.counts.lost), (1, 0));
    assert!(report.counts.errors > 0);
}
