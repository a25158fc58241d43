//! Durations, times and counts: few values, at the edges.

use std::{num::NonZeroUsize, time::Duration};

use proptest::{prelude::*, sample::select};
use queue_core::{
    Due, Timestamp,
    limits::{MAX_DEDUP_WINDOW, MAX_DELAY, MAX_LEASE, MAX_TIME},
};

use crate::sequence::{TimeStep, symbol::from_now};

const NANO: Duration = Duration::from_nanos(1);

pub(super) fn lease_time() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        30 => few(&[10, 20, 30, 1]),
        2 => part_of_a_millisecond(),
        1 => select(vec![Duration::ZERO, MAX_LEASE, MAX_LEASE + NANO]),
    ]
}

pub(super) fn delay() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        30 => few(&[0, 10, 20, 30, 1]),
        2 => part_of_a_millisecond(),
        1 => select(vec![MAX_DELAY, MAX_DELAY + NANO]),
    ]
}

/// The limit of a time to live: mostly longer than a delay, or the queue refuses the message.
pub(super) fn limit() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        30 => few(&[10, 20, 30, 40, 60]),
        2 => part_of_a_millisecond(),
        1 => select(vec![Duration::ZERO, MAX_DELAY, MAX_DELAY + NANO]),
    ]
}

pub(super) fn window() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        30 => few(&[20, 40, 100, 1]),
        2 => part_of_a_millisecond(),
        1 => select(vec![Duration::ZERO, MAX_DEDUP_WINDOW, MAX_DEDUP_WINDOW + NANO]),
    ]
}

pub(super) fn due() -> impl Strategy<Value = Due> + Clone {
    let absolute = select(vec![0, 1, MAX_TIME - 1, MAX_TIME, MAX_TIME * 1_000]);
    prop_oneof![
        8 => delay().prop_map(Due::After),
        4 => (-20..=40_i64).prop_map(from_now),
        1 => absolute.prop_map(|millis| Due::At(Timestamp::from_millis(millis))),
    ]
}

pub(super) fn wait() -> impl Strategy<Value = TimeStep> {
    prop_oneof![
        4 => (-1..=1_i8).prop_map(TimeStep::Next),
        4 => select(vec![1, 9, 10, 11, 0, 20, 30, 100]).prop_map(TimeStep::For),
    ]
}

/// The number of messages to ask for.
pub(super) fn count() -> impl Strategy<Value = NonZeroUsize> {
    let count = prop_oneof![
        20 => 1..=5_usize,
        4 => Just(128),
        1 => Just(129),
    ];
    count.prop_map(at_least_one)
}

/// The number of messages to purge.
pub(super) fn most() -> impl Strategy<Value = NonZeroUsize> {
    let most = prop_oneof![10 => 1..=3_usize, 2 => Just(1_000), 1 => Just(1_001)];
    most.prop_map(at_least_one)
}

/// The length of a page.
pub(super) fn page() -> impl Strategy<Value = usize> {
    prop_oneof![
        20 => 1..=4_usize,
        4 => Just(1_000),
        1 => select(vec![0, 1_001]),
    ]
}

fn at_least_one(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
}

fn few(millis: &[u64]) -> impl Strategy<Value = Duration> + Clone + use<> {
    select(millis.to_vec()).prop_map(Duration::from_millis)
}

/// Part of a millisecond, which the queue rounds up.
fn part_of_a_millisecond() -> impl Strategy<Value = Duration> + Clone {
    select(vec![1, 999_999, 10_000_001]).prop_map(Duration::from_nanos)
}
