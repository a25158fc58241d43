//! The times at which a worker polls for messages, and settles results.

use std::time::Duration;

use queue_worker::Workers;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    environment::{Environment, MILLI, SECOND},
    spy::Fault,
};

// Without hints, a message that is left, or comes after a poll, waits for the next poll.

#[tokio::test(start_paused = true)]
async fn a_poll_that_found_too_few_is_soon_followed_by_another() {
    let environment = Environment::holding(1).await;
    environment.spy.watched().fault = Some(Fault::NoHints);
    let worker = environment.worker().concurrency(4);
    let health = worker.health();
    let steps = async {
        sleep(5 * MILLI).await;
        environment.push(1).await;
        sleep(8 * MILLI).await;
        assert_eq!(health.counts().started, 2);
        environment.empty().await;
    };
    let report = worker.run_until(steps, |_: u64, _| sleep(SECOND)).await;
    assert_eq!(report.unwrap().counts.acked, 2);
}

#[tokio::test(start_paused = true)]
async fn a_full_answer_is_followed_by_another_poll_at_once() {
    let environment = Environment::holding(300).await;
    environment.spy.watched().fault = Some(Fault::NoHints);
    let worker = environment.worker().concurrency(300);
    let health = worker.health();
    let steps = async {
        sleep(2 * MILLI).await;
        assert_eq!(health.counts().started, 300);
        environment.empty().await;
    };
    let report = worker.run_until(steps, |_: u64, _| sleep(SECOND)).await;
    assert_eq!(report.unwrap().counts.acked, 300);
    assert!(environment.spy.watched().largest < 300);
}

/// A worker of sixteen slots gets messages of these numbers, whose handlers take as many milliseconds. Its
/// handlers have taken so long before that a result may wait for others for about 600 ms. Each pair in `at`
/// has the milliseconds since the messages came, and the number of messages acked by then.
async fn acked(numbers: &[u64], at: &[(u64, u64)]) {
    let environment = Environment::new().await;
    environment.numbers.push(&160_000).await.unwrap();
    let worker = environment.worker().concurrency(16).linger(10 * SECOND);
    let through = async {
        environment.empty().await;
        environment.numbers.push_all(numbers).await.unwrap();
        let start = Instant::now();
        for (millis, acked) in at {
            sleep_until(start + Duration::from_millis(*millis)).await;
            let counters = environment.counters().await;
            assert_eq!(counters.acked - 1, *acked, "after {millis} ms");
        }
        environment.empty().await;
    };
    let handler = |number: u64, _| sleep(Duration::from_millis(number));
    worker.run_until(through, handler).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_result_waits_for_others_for_a_sixteenth_of_what_a_handler_takes() {
    acked(&[1_000, 100_000], &[(1_400, 0), (1_700, 1)]).await;
}

#[tokio::test(start_paused = true)]
async fn an_eighth_of_the_slots_is_company_enough() {
    acked(&[1_000, 1_000, 100_000], &[(1_010, 2)]).await;
}

#[tokio::test(start_paused = true)]
async fn the_last_result_waits_for_nobody() {
    acked(&[1_000], &[(1_010, 1)]).await;
}

/// The waits in flight on an empty queue, once the worker has a message of another queue.
pub(crate) async fn waits(workers: Workers) -> u64 {
    let (empty, other) = (Environment::new().await, Environment::holding(1).await);
    let handler = |_: u64, _| sleep(60 * SECOND);
    let [idle, busy] = [&empty, &other].map(|queue| queue.route());
    let workers = workers.add(idle, handler).add(busy, handler);
    let mut waiting = 0;
    let look = async {
        sleep(SECOND).await;
        waiting = empty.spy.watched().waiting;
    };
    let report = workers.run_until(look).await.unwrap();
    assert_eq!(report.counts.started, 1);
    waiting
}

/// A wait without a free slot would take a hint from workers with a free slot.
#[tokio::test(start_paused = true)]
async fn a_worker_waits_for_messages_while_it_has_a_free_slot() {
    assert_eq!(waits(Workers::in_order().concurrency(2)).await, 1);
    assert_eq!(waits(Workers::in_order().concurrency(1)).await, 0);
}
