//! Durations, time steps and counts: few values, at the edges.

use std::time::Duration;

use proptest::{prelude::*, sample::select};
use queue_core::limits::{MAX_DEDUP_WINDOW, MAX_DELAY, MAX_LEASE};

use crate::model::Jump;

const NANO: Duration = Duration::from_nanos(1);

pub(super) fn ttl() -> impl Strategy<Value = Duration> + Clone {
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

pub(super) fn window() -> impl Strategy<Value = Duration> + Clone {
    prop_oneof![
        30 => few(&[20, 40, 100, 1]),
        2 => part_of_a_millisecond(),
        1 => select(vec![Duration::ZERO, MAX_DEDUP_WINDOW, MAX_DEDUP_WINDOW + NANO]),
    ]
}

pub(super) fn jump() -> impl Strategy<Value = Jump> {
    prop_oneof![
        4 => (-1..=1_i8).prop_map(Jump::Next),
        4 => select(vec![1, 9, 10, 11, 0, 20, 30, 100]).prop_map(Jump::By),
    ]
}

/// How many messages to ask for.
pub(super) fn count() -> impl Strategy<Value = usize> {
    prop_oneof![
        20 => 1..=5_usize,
        4 => Just(128),
        1 => Just(129),
    ]
}

/// The length of a page.
pub(super) fn page() -> impl Strategy<Value = usize> {
    prop_oneof![
        20 => 1..=4_usize,
        4 => Just(1_000),
        1 => select(vec![0, 1_001]),
    ]
}

fn few(millis: &[u64]) -> impl Strategy<Value = Duration> + Clone + use<> {
    select(millis.to_vec()).prop_map(Duration::from_millis)
}

/// Rounds up.
fn part_of_a_millisecond() -> impl Strategy<Value = Duration> + Clone {
    select(vec![1, 999_999, 10_000_001]).prop_map(Duration::from_nanos)
}
