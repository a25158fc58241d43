//! The calls that a worker makes, and the messages that it holds.

use std::time::Duration;

use tokio::time::sleep;

use crate::environment::Environment;

const MILLI: Duration = Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn one_slot_costs_one_call_a_message() {
    let environment = Environment::holding(100).await;
    environment.spy.watched().latency = 2 * MILLI;
    let worker = environment.worker();
    environment
        .work_off(worker, |_: u64, _| sleep(3 * MILLI))
        .await;
    let watched = environment.spy.watched();
    // The first call has nothing to settle; every other one settles one and leases the next.
    assert_eq!(watched.settle_and_leases, 1 + 100, "{watched:?}");
    assert_eq!(watched.settlements, 100, "{watched:?}");
    assert_eq!(watched.settles, 0, "{watched:?}");
    assert_eq!(watched.largest, 1);
    assert_eq!(watched.dropped, 0);
}

/// The calls per message over a hundred rounds of all slots, with handlers of various lengths.
async fn calls_a_message(slots: u64, shortest: Duration, longest: Duration) -> f64 {
    let count = slots * 100;
    let environment = Environment::holding(count).await;
    environment.spy.watched().latency = MILLI;
    let spread = (longest - shortest).as_micros() as u64;
    let worker = environment.worker().concurrency(slots as usize);
    let handler = move |number: u64, _| {
        let more = (number * 7919) % spread.max(1);
        sleep(shortest + Duration::from_micros(more))
    };
    let report = environment.work_off(worker, handler).await;
    let watched = environment.spy.watched();
    assert_eq!(report.counts.acked, count);
    assert_eq!(watched.dropped, 0);
    assert!(watched.largest <= slots as usize, "{watched:?}");
    watched.calls() as f64 / count as f64
}

#[tokio::test(start_paused = true)]
async fn sixteen_slots_and_more_cost_a_fraction_of_a_call_a_message() {
    for (slots, shortest, longest, most) in [
        (16, 0, 0, 0.2),
        (16, 5, 15, 0.5),
        (16, 20, 60, 0.7),
        (64, 5, 15, 0.2),
        (64, 100, 300, 0.5),
    ] {
        let calls = calls_a_message(slots, shortest * MILLI, longest * MILLI).await;
        assert!(
            calls <= most,
            "{slots} slots, {shortest} to {longest} ms: {calls} calls"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_is_leased_than_there_are_free_slots() {
    let environment = Environment::holding(100).await;
    let worker = environment.worker().concurrency(8);
    let health = worker.health();
    let counts = async {
        for _ in 0..50 {
            sleep(7 * MILLI).await;
            let leased = environment.counters().await.depth.leased;
            assert!(leased <= 8, "{leased} leased");
        }
        environment.empty().await;
    };
    worker
        .run_until(counts, |_: u64, _| sleep(10 * MILLI))
        .await
        .unwrap();
    assert_eq!(health.counts().acked, 100);
}
