//! Random cases: a configuration, and operations for a queue that has it.
//!
//! Everything is small, so that things meet: few keys, few bodies, few durations, small
//! capacities. Time steps fall just before, on and just after what is to happen. Now and then
//! there is a burst, so that the bounds of 128 show, and an argument that is `Invalid`.

mod amounts;
mod leasing;
mod parcels;

use std::time::Duration;

use proptest::{collection::vec, option, prelude::*, sample::select};
use queue_core::{
    BoundedConfig, DelayConfig, Overflow, PriorityConfig, ReliableConfig, RotatingConfig,
    limits::{DEFAULT_MAX_BODY, MAX_BATCH_BYTES},
};

use self::{
    amounts::{count, jump, page},
    leasing::{id, ids, leasing},
    parcels::{body, distinct, parcel},
};
use super::{BoundedOp, DelayOp, PriorityOp, ReliableOp, RotatingOp, Time};

/// How many operations a case has, at most.
const OPERATIONS: usize = 50;

/// Cases for a reliable queue.
pub fn reliable() -> impl Strategy<Value = (ReliableConfig, Vec<ReliableOp>)> {
    let config = limits().prop_map(|(attempts, dead, body)| {
        ReliableConfig::default()
            .with_max_attempts(attempts)
            .with_dead_letter_cap(dead)
            .with_max_body(body)
    });
    let op = prop_oneof![
        3 => batch(parcel()).prop_map(ReliableOp::Push),
        10 => leasing().prop_map(ReliableOp::Leasing),
    ];
    (config, vec(op, 1..=OPERATIONS))
}

/// Cases for a delay queue.
pub fn delay() -> impl Strategy<Value = (DelayConfig, Vec<DelayOp>)> {
    let config = limits().prop_map(|(attempts, dead, body)| {
        DelayConfig::default()
            .with_max_attempts(attempts)
            .with_dead_letter_cap(dead)
            .with_max_body(body)
    });
    let op = prop_oneof![
        6 => batch((parcel(), time())).prop_map(DelayOp::Schedule),
        2 => ids().prop_map(DelayOp::Cancel),
        2 => (id(), time()).prop_map(|(id, time)| DelayOp::Reschedule(id, time)),
        1 => Just(DelayOp::NextDue),
        20 => leasing().prop_map(DelayOp::Leasing),
    ];
    (config, vec(op, 1..=OPERATIONS))
}

/// Cases for a priority queue.
pub fn priority() -> impl Strategy<Value = (PriorityConfig, Vec<PriorityOp>)> {
    let ageing = prop_oneof![
        3 => Just(None),
        3 => select(vec![1, 10, 24 * 60 * 60 * 1_000]).prop_map(Some),
    ];
    let config = (limits(), ageing).prop_map(|((attempts, dead, body), ageing)| {
        let config = PriorityConfig::default()
            .with_max_attempts(attempts)
            .with_dead_letter_cap(dead)
            .with_max_body(body);
        match ageing {
            Some(millis) => config.with_ageing(Duration::from_millis(millis)),
            None => config,
        }
    });
    let priority = select(vec![0, 0, 1, 1, -1, 2, i16::MAX, i16::MIN]);
    let op = prop_oneof![
        3 => batch((parcel(), priority)).prop_map(PriorityOp::Enqueue),
        10 => leasing().prop_map(PriorityOp::Leasing),
    ];
    (config, vec(op, 1..=OPERATIONS))
}

/// Cases for a bounded queue.
pub fn bounded() -> impl Strategy<Value = (BoundedConfig, Vec<BoundedOp>)> {
    let capacity = select(vec![1, 2, 3, 4, 300, 500, 1_000]);
    let config = (capacity, limits()).prop_map(|(capacity, (attempts, dead, body))| {
        BoundedConfig::new(capacity)
            .with_max_attempts(attempts)
            .with_dead_letter_cap(dead)
            .with_max_body(body)
    });
    let overflow = select(vec![Overflow::Reject, Overflow::DropOldest]);
    let beyond = u32::MAX as usize;
    let capacity = prop_oneof![
        4 => 1..=6_usize,
        6 => select(vec![100, 300, 500]),
        1 => select(vec![beyond, beyond + 1]),
    ];
    let op = prop_oneof![
        6 => (batch((parcel(), distinct())), overflow)
            .prop_map(|(batch, overflow)| BoundedOp::Offer(batch, overflow)),
        1 => page().prop_map(BoundedOp::Recent),
        1 => Just(BoundedOp::Capacity),
        1 => capacity.prop_map(BoundedOp::Resize),
        20 => leasing().prop_map(BoundedOp::Leasing),
    ];
    (config, vec(op, 1..=OPERATIONS))
}

/// Cases for a rotating queue.
pub fn rotating() -> impl Strategy<Value = (RotatingConfig, Vec<RotatingOp>)> {
    let pace = option::of(select(vec![1, 10, 20]));
    let config = (pace, max_body()).prop_map(|(pace, max_body)| {
        let config = RotatingConfig::default().with_max_body(max_body);
        match pace {
            Some(millis) => config.with_pace(Duration::from_millis(millis)),
            None => config,
        }
    });
    let op = prop_oneof![
        4 => batch((body(), distinct())).prop_map(RotatingOp::Insert),
        6 => count().prop_map(RotatingOp::Rotate),
        2 => page().prop_map(RotatingOp::List),
        2 => ids().prop_map(RotatingOp::Remove),
        4 => jump().prop_map(RotatingOp::Advance),
    ];
    (config, vec(op, 1..=OPERATIONS))
}

/// max_attempts, dead_letter_cap and max_body.
fn limits() -> impl Strategy<Value = (u32, u64, usize)> {
    let attempts = prop_oneof![3 => 1..=3_u32, 1 => Just(5)];
    let dead = select(vec![10_000, 10_000, 0, 1, 2, 3]);
    (attempts, dead, max_body())
}

fn max_body() -> impl Strategy<Value = usize> {
    select(vec![
        DEFAULT_MAX_BODY,
        16,
        MAX_BATCH_BYTES,
        MAX_BATCH_BYTES,
        MAX_BATCH_BYTES,
    ])
}

/// A batch: seldom empty, seldom long.
fn batch<S>(entry: S) -> impl Strategy<Value = Vec<S::Value>>
where
    S: Strategy + Clone,
    S::Value: Clone,
{
    prop_oneof![
        60 => vec(entry.clone(), 1..=4),
        1 => Just(Vec::new()),
        1 => (entry, select(vec![127, 128, 129])).prop_map(|(entry, times)| vec![entry; times]),
    ]
}

fn time() -> impl Strategy<Value = Time> + Clone {
    prop_oneof![
        8 => amounts::delay().prop_map(Time::In),
        4 => (-20..=40_i64).prop_map(Time::At),
        1 => select(vec![0, 1, (1 << 53) - 1, 1 << 53]).prop_map(Time::Absolute),
    ]
}
