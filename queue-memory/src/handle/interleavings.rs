//! Waiting, removals and once keys in every order in which threads can take turns, while time stands
//! still: no timer makes up for a lost wake-up.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    task::{Context, Waker},
    time::Duration,
};

use queue_core::{
    Backend, BoundedConfig, BoundedQueue, BoundedQueueExt, Claim, Leasing, LeasingExt, OnceStore,
    QueueName, ReliableConfig, ReliableQueue, Removal, Settled, Settlement, Timestamp, Token,
};
use queue_testing::interleave::{JoinHandle, block_on, exhaustive, spawn};

use crate::MemoryBackend;

const LONG: Duration = Duration::from_secs(3_600);

fn backend() -> (MemoryBackend, QueueName) {
    let backend = MemoryBackend::starting_at(Timestamp::from_millis(1_000));
    (backend, "interleaved".parse().unwrap())
}

fn reliable() -> Arc<dyn ReliableQueue> {
    let (backend, name) = backend();
    let config = ReliableConfig::default();
    block_on(backend.open_reliable(&name, &config)).unwrap()
}

fn bounded(capacity: usize) -> Arc<dyn BoundedQueue> {
    let (backend, name) = backend();
    let config = BoundedConfig::new(capacity);
    block_on(backend.open_bounded(&name, &config)).unwrap()
}

/// A consumer that waits for a hint, and then takes one message.
fn consumer<Q: Leasing + ?Sized + 'static>(queue: &Arc<Q>) -> JoinHandle<()> {
    let queue = Arc::clone(queue);
    spawn(move || {
        block_on(async {
            let one = 1.try_into().unwrap();
            loop {
                queue.wait_for_arrival(LONG).await.unwrap();
                if !queue.lease(one, LONG).await.unwrap().is_empty() {
                    return;
                }
            }
        });
    })
}

fn all(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

fn two_messages_one_after_another() {
    let queue = reliable();
    let consumers = [consumer(&queue), consumer(&queue)];
    block_on(queue.push_one("a")).unwrap().id().unwrap();
    block_on(queue.push_one("b")).unwrap().id().unwrap();
    all(consumers);
}

#[test]
fn two_messages_wake_two_consumers() {
    let orders = exhaustive(two_messages_one_after_another);
    assert!(orders > 1_000, "{orders}");
}

#[test]
fn a_batch_wakes_one_consumer_for_each_message() {
    let orders = exhaustive(|| {
        let queue = reliable();
        let consumers = [consumer(&queue), consumer(&queue)];
        block_on(queue.push(&["a".into(), "b".into()])).unwrap();
        all(consumers);
    });
    assert!(orders > 100, "{orders}");
}

#[test]
fn a_dropped_wait_passes_its_wakeup_on() {
    let orders = exhaustive(|| {
        let queue = reliable();
        let dropped = spawn({
            let queue = Arc::clone(&queue);
            move || {
                let wait = pin!(queue.wait_for_arrival(LONG));
                let looked = wait.poll(&mut Context::from_waker(Waker::noop()));
                if looked.is_ready() {
                    return;
                }
                queue_testing::interleave::step();
            }
        });
        let consumer = consumer(&queue);
        block_on(queue.push_one("a")).unwrap().id().unwrap();
        all([dropped, consumer]);
    });
    assert!(orders > 100, "{orders}");
}

#[test]
fn a_release_wakes_another_consumer() {
    let orders = exhaustive(|| {
        let queue = reliable();
        block_on(queue.push_one("a")).unwrap().id().unwrap();
        let consumer = consumer(&queue);
        let other = spawn({
            let queue = Arc::clone(&queue);
            move || {
                let leased = block_on(queue.lease(1.try_into().unwrap(), LONG)).unwrap();
                for delivery in leased.deliveries {
                    let release = Settlement::release(delivery.receipt);
                    let settled = block_on(queue.settle_one(release)).unwrap();
                    assert_eq!(settled, Settled::Done);
                }
            }
        });
        all([consumer, other]);
    });
    assert!(orders > 10, "{orders}");
}

#[test]
fn room_wakes_a_producer_as_an_arrival_wakes_a_consumer() {
    let orders = exhaustive(|| {
        let queue = bounded(1);
        let producer = spawn({
            let queue = Arc::clone(&queue);
            move || {
                for body in ["a", "b"] {
                    block_on(queue.push_or_wait(body, LONG))
                        .unwrap()
                        .id()
                        .unwrap();
                }
            }
        });
        for _ in 0..2 {
            let delivery = block_on(queue.receive_one(LONG, LONG)).unwrap().unwrap();
            block_on(queue.ack(delivery.receipt)).unwrap();
        }
        all([producer]);
    });
    assert!(orders > 100, "{orders}");
}

fn a_removal_while_one_waits() {
    let (backend, name) = backend();
    let config = ReliableConfig::default();
    let queue = block_on(backend.open_reliable(&name, &config)).unwrap();
    let consumer = consumer(&queue);
    assert!(block_on(backend.remove(&name, Removal::UnlessLeased)).unwrap());
    block_on(queue.push_one("a")).unwrap().id().unwrap();
    all([consumer]);
}

#[test]
fn a_waiter_of_a_removed_queue_gets_the_messages_of_the_next() {
    let orders = exhaustive(a_removal_while_one_waits);
    assert!(orders > 10, "{orders}");
}

/// A push is removed with the queue, or creates the queue again: no push is lost after the removal.
#[test]
fn a_push_after_a_removal_is_kept() {
    let orders = exhaustive(|| {
        let (backend, name) = backend();
        let config = ReliableConfig::default();
        let queue = block_on(backend.open_reliable(&name, &config)).unwrap();
        let removed = Arc::new(AtomicBool::new(false));
        let producer = spawn({
            let (queue, removed) = (Arc::clone(&queue), Arc::clone(&removed));
            move || {
                queue_testing::interleave::step();
                let late = removed.load(SeqCst);
                block_on(queue.push_one("a")).unwrap().id().unwrap();
                late
            }
        });
        assert!(block_on(backend.remove(&name, Removal::UnlessLeased)).unwrap());
        removed.store(true, SeqCst);
        let late = producer.join().unwrap();
        let counters = block_on(queue.counters()).unwrap();
        assert!(counters.balance(), "{counters:?}");
        assert!(counters.depth.ready == 1 || !late, "{counters:?}");
    });
    assert!(orders > 1, "{orders}");
}

/// With a planted bug, each proof must fail.
#[cfg(feature = "planted")]
mod is_seen {
    use crate::planted::{Bug, plant};

    use super::{a_removal_while_one_waits, exhaustive, two_messages_one_after_another};

    #[test]
    #[should_panic(expected = "deadlock")]
    fn that_a_removal_wakes_nobody() {
        let _planted = plant(Bug::RemovalWakesNobody);
        exhaustive(a_removal_while_one_waits);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn that_a_notified_waiter_can_still_be_rung() {
        let _planted = plant(Bug::ToldBeforeItLeaves);
        exhaustive(two_messages_one_after_another);
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn that_an_arrival_wakes_nobody() {
        let _planted = plant(Bug::ArrivalWakesNobody);
        exhaustive(two_messages_one_after_another);
    }
}

/// O1, O2 and O3: one claimant gives its claim back, and then both want to run the effect.
#[test]
fn a_key_has_one_claim_at_a_time_and_is_done_once() {
    let orders = exhaustive(|| {
        let (backend, name) = backend();
        let store = block_on(backend.open_once(&name)).unwrap();
        let held = Arc::new(AtomicBool::new(false));
        let claimants = [true, false].map(|hesitates| {
            let (store, held) = (Arc::clone(&store), Arc::clone(&held));
            spawn(move || {
                if hesitates && let Some(token) = claim(&*store, &held) {
                    held.store(false, SeqCst);
                    block_on(store.release(b"key", token)).unwrap();
                    // The claim is another's now, or nobody's.
                    block_on(store.finish(b"key", token, LONG)).unwrap_err();
                }
                let token = claim(&*store, &held)?;
                held.store(false, SeqCst);
                block_on(store.finish(b"key", token, LONG)).unwrap();
                Some(token)
            })
        });
        let finished = claimants.map(|claimant| claimant.join().unwrap());
        assert_eq!(finished.iter().flatten().count(), 1, "{finished:?}");
        let counts = block_on(store.counts()).unwrap();
        assert_eq!((counts.claimed, counts.done), (0, 1));
    });
    assert!(orders > 100, "{orders}");
}

fn claim(store: &dyn OnceStore, held: &AtomicBool) -> Option<Token> {
    let Claim::Claimed(token) = block_on(store.claim(b"key", LONG)).unwrap() else {
        return None;
    };
    assert!(!held.swap(true, SeqCst), "two hold the key at once");
    Some(token)
}
