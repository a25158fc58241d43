//! Messages that a wait brings.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use queue_worker::Workers;
use tokio::time::{Instant, sleep};

use crate::environment::{Environment, MILLI, SECOND};

async fn handing_over() -> Environment {
    let environment = Environment::new().await;
    environment.spy.watched().hands_over = true;
    environment
}

#[tokio::test(start_paused = true)]
async fn a_handed_over_message_is_handled_without_a_call_for_it() {
    let environment = handing_over().await;
    let spy = environment.spy.clone();
    let worker = environment.worker();
    let steps = async {
        sleep(SECOND).await;
        let before = spy.watched().settle_and_leases;
        environment.push(1).await;
        let start = Instant::now();
        environment.until(|counters| counters.acked == 1).await;
        // One call, which settles.
        assert_eq!(spy.watched().calls(), before + 1);
        assert!(start.elapsed() < 20 * MILLI);
    };
    let report = worker.run_until(steps, |_: u64, _| async {}).await.unwrap();
    assert_eq!((report.counts.leased, report.counts.acked), (1, 1));
    assert!(report.counts.balance(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn messages_behind_a_handed_over_one_are_handled_too() {
    let environment = handing_over().await;
    let worker = environment.worker().concurrency(4);
    let steps = async {
        sleep(SECOND).await;
        environment.push(10).await;
        environment.until(|counters| counters.acked == 10).await;
    };
    let start = Instant::now();
    let report = worker.run_until(steps, |_: u64, _| sleep(10 * MILLI)).await;
    assert_eq!(report.unwrap().counts.acked, 10);
    assert!(start.elapsed() < SECOND + 100 * MILLI);
}

/// One slot takes one of the messages, and the other stays available to other workers.
#[tokio::test(start_paused = true)]
async fn of_two_that_come_at_once_for_one_slot_one_goes_back() {
    let (first, second) = (handing_over().await, handing_over().await);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler = || {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        move |_: u64, _| {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            async move {
                most.fetch_max(running.fetch_add(1, Relaxed) + 1, Relaxed);
                sleep(10 * MILLI).await;
                running.fetch_sub(1, Relaxed);
            }
        }
    };
    let both = async {
        for _ in 0..20 {
            sleep(SECOND).await;
            tokio::join!(first.push(1), second.push(1));
            first.empty().await;
            second.empty().await;
        }
    };
    let report = Workers::by_weight()
        .concurrency(1)
        .add(first.route(), handler())
        .add(second.route(), handler())
        .run_until(both)
        .await
        .unwrap();
    assert_eq!(most.load(Relaxed), 1);
    assert_eq!(report.counts.acked, 40);
    assert!(report.counts.balance(), "{report:?}");
    for environment in [first, second] {
        let counters = environment.counters().await;
        assert_eq!((counters.acked, counters.expired), (20, 0));
    }
}

/// The worker must assume that a lease is as old as the wait that brought it.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_wait_that_is_a_part_of_a_lease_causes_no_poll() {
    let environment = handing_over().await;
    let spy = environment.spy.clone();
    let worker = environment.worker().lease(2 * SECOND).poll(60 * SECOND);
    let steps = async {
        sleep(59 * SECOND).await;
        assert_eq!(spy.watched().longest, SECOND / 2);
        assert_eq!(spy.watched().calls(), 1, "it looked at its start alone");
        environment.push(1).await;
        environment.until(|counters| counters.acked == 1).await;
    };
    let report = worker
        .run_until(steps, |_: u64, _| sleep(10 * SECOND))
        .await
        .unwrap();
    // Its heartbeats begin in time.
    assert_eq!(
        (report.counts.acked, report.counts.lost),
        (1, 0),
        "{report:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_while_a_worker_stops_goes_back() {
    let environment = handing_over().await;
    let worker = environment.worker();
    let steps = async {
        sleep(SECOND).await;
        environment.push(1).await;
    };
    worker
        .run_until(steps, |_: u64, _| sleep(SECOND))
        .await
        .unwrap();
    let counters = environment.counters().await;
    let left = counters.depth.ready + counters.acked;
    assert_eq!((left, counters.depth.leased), (1, 0), "{counters:?}");
}
