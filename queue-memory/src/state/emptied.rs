//! A large queue is small again once it is empty, and loses nothing before.

use std::time::Duration;

use queue_core::{
    Holder, Insert, MessageId, Page, Place, Push, Pushed, ReliableConfig, RotatingConfig,
    Settlement, Standing, TimeToLive, Timestamp,
};

use super::{LeasingState, Openable, Reliable, Ring, entry::KEPT};

/// More than any structure keeps room for.
const MANY: usize = 4 * KEPT;
const HOUR: Duration = Duration::from_secs(3_600);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn state() -> LeasingState<Reliable> {
    LeasingState::<Reliable>::create(&ReliableConfig::default())
}

#[test]
fn a_queue_of_leased_messages_that_have_times_to_live() {
    let mut state = state();
    let push = Push::new("x").with_time_to_live(TimeToLive::drop_after(HOUR));
    state.push(at(1), &vec![push; MANY]);
    let lease = |name: usize| {
        let holder = Holder::new(format!("holder {name}")).unwrap();
        let leased = state.lease(at(1), 1, 1_000, Some(holder));
        Settlement::ack(leased.deliveries[0].receipt)
    };
    let acks: Vec<Settlement> = (0..MANY).map(lease).collect();
    state.settle(at(2), &acks[1..]);
    assert_eq!((state.holders.len(), state.ends.len()), (1, (1, 0)));
    let left = state.peek(at(2), Place::Leased, Page::first(2)).entries;
    let Standing::Leased { holder, .. } = &left[0].standing else {
        panic!("the first is leased")
    };
    assert_eq!(holder.as_ref().unwrap().as_str(), "holder 0");
    state.settle(at(2), &acks[..1]);
    assert_eq!((state.entries.len(), state.ends.len()), (0, (0, 0)));
    assert!(state.entries.capacity() <= KEPT);
    assert!(state.holders.capacity() <= KEPT);
    assert!(state.ends.capacity() <= 2 * KEPT);
    assert!(state.index.capacity() <= 4 * KEPT);
}

#[test]
fn marks_that_end() {
    let mut state = state();
    let keyed = |key: usize, window: u64| {
        let window = Duration::from_millis(window);
        Push::new("x").with_unique(key.to_string(), window)
    };
    let brief: Vec<Push> = (1..MANY).map(|key| keyed(key, 10)).collect();
    state.push(at(1), &brief);
    state.push(at(1), &[keyed(0, 100)]);
    for _ in 0..MANY {
        state.depth(at(50));
    }
    assert_eq!(state.marks.len(), 1);
    let again = state.push(at(50), &[keyed(0, 100)]);
    assert_eq!(again, [Pushed::Duplicate(MessageId::new(MANY as u64))]);
    state.depth(at(101));
    assert_eq!(state.marks.len(), 0);
    assert!(state.marks.capacity() <= 2 * KEPT);
}

#[test]
fn a_name_on_no_lease() {
    let mut state = state();
    let leased = state.lease(at(1), 1, 1_000, Some(Holder::new("nobody").unwrap()));
    assert!(leased.is_empty());
    assert_eq!(state.holders.len(), 0);
}

#[test]
fn a_ring() {
    let mut ring = Ring::create(&RotatingConfig::default());
    let inserted = ring.insert(&vec![Insert::new("x"); MANY]);
    let ids: Vec<MessageId> = inserted.iter().map(|item| item.id()).collect();
    assert_eq!(ring.remove(&ids[1..]), MANY as u64 - 1);
    let left = ring.rotate(at(1), 2).items;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].body, "x");
    assert_eq!(ring.remove(&ids[..1]), 1);
    ring.assert_whole(0);
}
