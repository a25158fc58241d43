//! Waits on the wire: the server wakes them, and the virtual clock times them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_sim::{plan::Process, wire::RedisEnvironment, world::Fault};
use tokio::time;

use crate::set::{SECOND, Set, lease_one, play};

#[test]
fn a_wait_ends_with_its_time_to_the_millisecond() {
    let mut environment = RedisEnvironment::start().unwrap();
    play(&mut environment, &[], "v1:", async |set| {
        let queue = set.reliable(1).await;
        assert_eq!(set.time(), 0, "connecting takes no time");
        // Longer than the time after which the client waits again.
        for (wait, end) in [(7, 7), (100_000, 100_007), (1, 100_008)] {
            let wait = Duration::from_millis(wait);
            queue.wait_for_arrival(wait).await.unwrap();
            assert_eq!(set.time(), end);
        }
    });
}

#[test]
fn a_push_wakes_one_waiter_at_once_and_no_other() {
    let mut environment = RedisEnvironment::start().unwrap();
    play(&mut environment, &[], "v1:", async |set| {
        let woken = Arc::new(Mutex::new(Vec::new()));
        for process in 2..=4 {
            let (set, woken) = (set.clone(), Arc::clone(&woken));
            let executor = set.context.executor.clone();
            let wait = async move {
                let queue = set.reliable(process).await;
                queue.wait_for_arrival(90 * SECOND).await.unwrap();
                woken.lock().unwrap().push((process, set.time()));
            };
            executor.spawn(Process(process), Box::pin(wait));
        }
        let queue = set.reliable(1).await;
        time::sleep(40 * SECOND).await;
        let _pushed = queue.push_one("work").await.unwrap();
        time::sleep(SECOND).await;
        assert_eq!(*woken.lock().unwrap(), [(2, 40_000)]);
        // A lease that leaves nothing behind wakes no waiter; the next push does.
        let _pushed = queue.push_one("more").await.unwrap();
        time::sleep(60 * SECOND).await;
        let woken = woken.lock().unwrap();
        assert_eq!(woken[1..], [(3, 41_000), (4, 90_000)]);
    });
}

#[test]
fn a_client_that_waits_for_two_queues_is_woken_for_the_right_one() {
    let mut environment = RedisEnvironment::start().unwrap();
    play(&mut environment, &[], "v1:", async |set| {
        let backend = set.backend(2).await;
        let config = ReliableConfig::default();
        let mut queues = Vec::new();
        for name in ["left", "right"] {
            let name = QueueName::new(name).unwrap();
            queues.push(backend.open_reliable(&name, &config).await.unwrap());
        }
        let other = set.backend(1).await;
        let right = QueueName::new("right").unwrap();
        let right = other.open_reliable(&right, &config).await.unwrap();
        let ends = Arc::new(Mutex::new(Vec::new()));
        for (queue, after) in queues.into_iter().zip([0, 5]) {
            let (set, ends) = (set.clone(), Arc::clone(&ends));
            let executor = set.context.executor.clone();
            let wait = async move {
                // The second waiter joins while the first waits alone.
                time::sleep(after * SECOND).await;
                queue.wait_for_arrival(30 * SECOND).await.unwrap();
                ends.lock().unwrap().push(set.time());
            };
            executor.spawn(Process(2), Box::pin(wait));
        }
        time::sleep(12 * SECOND).await;
        let _pushed = right.push_one("work").await.unwrap();
        time::sleep(60 * SECOND).await;
        assert_eq!(*ends.lock().unwrap(), [12_000, 30_000]);
    });
}

#[test]
fn a_producer_waits_for_room() {
    let mut environment = RedisEnvironment::start().unwrap();
    play(&mut environment, &[], "v1:", async |set| {
        let config = BoundedConfig::new(1);
        let backend = set.backend(1).await;
        let queue = backend
            .open_bounded(&crate::set::name(), &config)
            .await
            .unwrap();
        let _pushed = queue.push_one("first").await.unwrap();
        let waiting = {
            let set = set.clone();
            let queue = Arc::clone(&queue);
            async move {
                queue.wait_for_room(50 * SECOND).await.unwrap();
                assert_eq!(set.time(), 3_000);
            }
        };
        let take = async {
            time::sleep(3 * SECOND).await;
            let got = lease_one(&*queue, SECOND).await.unwrap();
            queue.ack(got.receipt).await.unwrap();
        };
        tokio::join!(waiting, take);
    });
}

/// Where hints can get lost, clients have a short fall-back interval. The plan lets no fault strike.
const CAN_LOSE_HINTS: &[Fault] = &[Fault::ReplyLost];

/// Waits for `millis`, and returns how many milliseconds the wait took.
async fn timed<F>(set: &Set, millis: u64, wait: impl FnOnce(Duration) -> F) -> u64
where
    F: Future<Output = Result<()>>,
{
    let begin = set.time();
    wait(Duration::from_millis(millis)).await.unwrap();
    set.time() - begin
}

#[test]
fn short_waits_for_arrivals_without_a_poll_add_up_to_the_fall_back_interval() {
    let mut environment = RedisEnvironment::start().unwrap();
    play(&mut environment, CAN_LOSE_HINTS, "v1:", async |set| {
        let queue = set.reliable(1).await;
        let wait = |longest| queue.wait_for_arrival(longest);
        let interval = timed(&set, 10_000, wait).await;
        assert!(interval < 10_000, "no wait is longer than the interval");
        let short = interval * 9 / 10;
        assert_eq!(timed(&set, short, wait).await, short);
        assert_eq!(timed(&set, short, wait).await, interval - short);
        // A poll begins the next interval.
        assert_eq!(timed(&set, short, wait).await, short);
        assert!(lease_one(&*queue, SECOND).await.is_none());
        assert_eq!(timed(&set, short, wait).await, short);
        assert_eq!(timed(&set, short, wait).await, interval - short);
    });
}

#[test]
fn short_waits_for_room_without_a_push_add_up_to_the_fall_back_interval() {
    let mut environment = RedisEnvironment::start().unwrap();
    play(&mut environment, CAN_LOSE_HINTS, "v1:", async |set| {
        let config = BoundedConfig::new(1);
        let backend = set.backend(1).await;
        let queue = backend.open_bounded(&crate::set::name(), &config).await;
        let queue = queue.unwrap();
        let _pushed = queue.push_one("first").await.unwrap();
        let wait = |longest| queue.wait_for_room(longest);
        let interval = timed(&set, 10_000, wait).await;
        assert!(interval < 10_000, "no wait is longer than the interval");
        let short = interval * 9 / 10;
        assert_eq!(timed(&set, short, wait).await, short);
        assert_eq!(timed(&set, short, wait).await, interval - short);
        // A push begins the next interval.
        assert_eq!(timed(&set, short, wait).await, short);
        let pushed = queue.push_one("next").await.unwrap();
        assert_eq!(pushed, Pushed::Full);
        assert_eq!(timed(&set, short, wait).await, short);
        assert_eq!(timed(&set, short, wait).await, interval - short);
    });
}
