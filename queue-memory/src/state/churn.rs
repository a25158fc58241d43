//! Leak tests, one beside each kind: after any number of operations, every structure is as large as
//! its content needs, and once it is empty, small again.

use std::time::Duration;

use queue_core::{Delivery, Holder, MessageId, Push, Settlement, TimeToLive, Timestamp};

use super::{LeasingState, backlog::Backlog, entry::KEPT, kind::Kind};

/// How many messages to push, lease and settle, for each kind: a million, or as many as
/// `QUEUE_TEST_CHURN` says. A leak of one message in a thousand shows long before.
pub(super) fn operations() -> usize {
    match std::env::var("QUEUE_TEST_CHURN").as_deref() {
        Err(_) | Ok("") => 1_000_000,
        Ok(number) => number
            .parse()
            .unwrap_or_else(|_| panic!("QUEUE_TEST_CHURN={number:?}: a number, such as 10000000")),
    }
}

pub(super) const BATCH: usize = 16;
/// Dedup windows last this long, and every round moves the clock by 1 ms.
const WINDOW: usize = 50;
pub(super) const DEAD_LETTERS: u64 = 100;

/// Settles deliveries in every way, and lets some leases expire.
fn settlements(round: usize, deliveries: &[Delivery]) -> Vec<Settlement> {
    let settle = |(n, delivery): (usize, &Delivery)| {
        let receipt = delivery.receipt;
        let delay = Duration::from_millis((n % 7) as u64);
        Some(match (round + n) % 16 {
            0 => return None,
            1 => Settlement::retry(receipt, delay),
            2 => Settlement::defer(receipt, delay),
            3 => Settlement::release(receipt),
            4 => Settlement::bury(receipt, "churn"),
            _ => Settlement::ack(receipt),
        })
    };
    deliveries.iter().enumerate().filter_map(settle).collect()
}

fn pushes(round: usize) -> Vec<Push> {
    // Shorter than a lease, and than some of the delays.
    let limit = Duration::from_millis((1 + round % 5) as u64);
    let push = |n: usize| {
        let push = Push::new("churn");
        match n % 8 {
            2 => push.with_time_to_live(TimeToLive::drop_after(limit)),
            6 => push.with_time_to_live(TimeToLive::bury_after(limit)),
            // Every key comes twice.
            0 | 4 => push.with_dedup(
                format!("{}-{n}", round / 2),
                Duration::from_millis(WINDOW as u64),
            ),
            _ => push,
        }
    };
    (0..BATCH).map(push).collect()
}

/// Delays some of the messages by their pushes.
pub(super) fn delayed(pushes: Vec<Push>) -> impl Iterator<Item = Push> {
    let delayed = |(n, push): (usize, Push)| match n % 4 {
        1 => push.with_due(Duration::from_millis((n % 7) as u64)),
        _ => push,
    };
    pushes.into_iter().enumerate().map(delayed)
}

/// Pushes, cancels, leases and settles, and checks the sizes all the time.
pub(super) fn churn<K: Kind>(
    mut state: LeasingState<K>,
    mut push: impl FnMut(&mut LeasingState<K>, Timestamp, usize, Vec<Push>),
) {
    let mut now = Timestamp::from_millis(1);
    let holder = Holder::new("churn").unwrap();
    for round in 0..operations() / (3 * BATCH) {
        now = now.plus_millis(1);
        push(&mut state, now, round, pushes(round));
        let _cancelled = state.cancel(now, &[MessageId::new(state.last_id), MessageId::new(1)]);
        let holder = (round % 3 > 0).then(|| holder.clone());
        let deliveries = state.lease(now, 2 * BATCH, 20, holder).deliveries;
        let settlements = settlements(round, &deliveries);
        if !settlements.is_empty() {
            state.settle(now, &settlements);
        }
        assert_small(&state, now);
    }
    let counters = &state.counters;
    assert!(counters.acked > 0 && counters.expired > 0 && counters.died > 0);
    assert!(counters.cancelled > 0 && counters.outdated > 0);
    assert!(state.counters(now).balance());
    drain(&mut state, now);
}

fn assert_small<K: Kind>(state: &LeasingState<K>, now: Timestamp) {
    // A batch comes each millisecond, so some dozens of batches are under way, whatever the kind.
    let bound = 100 * BATCH;
    assert!(
        state.entries.len() < bound,
        "{} entries at {now}",
        state.entries.len()
    );
    assert!(state.entries.capacity() <= 2 * bound);
    assert_eq!(
        state.entries.len(),
        state.backlog.len() + state.leases.len()
    );
    assert!(state.index.capacity() <= 4 * bound);
    assert!(state.holders.len() <= state.leases.len());
    assert!(state.holders.capacity() <= 2 * bound);
    assert!(state.distinct.len() <= state.entries.len());
    let (limited, undelivered) = state.ends.len();
    assert!(limited <= state.entries.len() && undelivered <= state.backlog.len());
    assert!(state.dead.len() as u64 <= DEAD_LETTERS);
    assert!(state.marks.len() <= (WINDOW + 2) * BATCH);
}

/// A large queue that was emptied is as small as a new one.
fn drain<K: Kind>(state: &mut LeasingState<K>, now: Timestamp) {
    let mut now = now.plus_millis(WINDOW as u64);
    while state.entries.len() > 0 {
        now = now.plus_millis(1);
        state.purge(now, 1000);
    }
    for _ in 0..WINDOW {
        state.depth(now);
    }
    assert_eq!(state.marks.len(), 0);
    assert_eq!(state.leases.len() + state.backlog.len(), 0);
    assert_eq!(state.holders.len(), 0);
    assert_eq!(state.distinct.len(), 0);
    assert_eq!(state.ends.len(), (0, 0));
    assert!(state.ends.capacity() <= 4 * KEPT);
    assert!(state.entries.capacity() <= KEPT);
    assert!(state.index.capacity() <= 4 * KEPT);
}
