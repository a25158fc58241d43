//! Configurations: their limits, and the error for a stored one that differs.

use std::time::Duration;

use queue_core::{
    BoundedConfig, DelayConfig, Error, ErrorKind, PriorityConfig, ReliableConfig, RotatingConfig,
    limits,
};

const MS: Duration = Duration::from_millis(1);

#[track_caller]
fn fails(result: Result<(), Error>, kind: ErrorKind, names: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind);
    for name in names {
        assert!(
            error.to_string().contains(name),
            "{error} does not name {name}"
        );
    }
}

#[test]
fn zero_and_too_much_are_invalid() {
    let invalid = |result, names| fails(result, ErrorKind::Invalid, &[names]);
    invalid(
        ReliableConfig::default().with_max_attempts(0).check(),
        "max_attempts",
    );
    invalid(
        DelayConfig::default()
            .with_dead_letter_cap(u64::MAX)
            .check(),
        "dead_letter_cap",
    );
    invalid(
        ReliableConfig::default().with_max_body(0).check(),
        "max_body of 0",
    );
    let too_large = limits::MAX_BATCH_BYTES + 1;
    invalid(
        ReliableConfig::default().with_max_body(too_large).check(),
        "max_body",
    );
    invalid(BoundedConfig::new(0).check(), "capacity of 0");
    invalid(BoundedConfig::new(usize::MAX).check(), "capacity");
    invalid(
        PriorityConfig::default()
            .with_ageing(Duration::ZERO)
            .check(),
        "ageing",
    );
    invalid(
        PriorityConfig::default().with_ageing(Duration::MAX).check(),
        "ageing",
    );
    invalid(
        RotatingConfig::default().with_pace(Duration::ZERO).check(),
        "pace",
    );
    invalid(
        RotatingConfig::default().with_pace(Duration::MAX).check(),
        "pace",
    );
    invalid(
        RotatingConfig::default().with_max_body(0).check(),
        "max_body",
    );
}

#[test]
fn the_edges_are_allowed() {
    let body = limits::MAX_BATCH_BYTES;
    assert!(
        ReliableConfig::default()
            .with_max_attempts(1)
            .check()
            .is_ok()
    );
    assert!(
        DelayConfig::default()
            .with_dead_letter_cap(0)
            .check()
            .is_ok()
    );
    assert!(BoundedConfig::new(1).with_max_body(body).check().is_ok());
    assert!(PriorityConfig::default().with_ageing(MS).check().is_ok());
    assert!(RotatingConfig::default().with_pace(MS).check().is_ok());
}

#[test]
fn a_mismatch_names_both_values() {
    let mismatch = |result, names: &[&str]| fails(result, ErrorKind::ConfigMismatch, names);
    let stored = ReliableConfig::default().with_max_attempts(3);
    let asked = ReliableConfig::default().with_max_attempts(7);
    mismatch(asked.check_stored(&stored), &["max_attempts", "3", "7"]);
    let stored = DelayConfig::default().with_dead_letter_cap(10);
    let asked = DelayConfig::default().with_dead_letter_cap(20);
    mismatch(
        asked.check_stored(&stored),
        &["dead_letter_cap", "10", "20"],
    );
    let stored = PriorityConfig::default();
    let asked = PriorityConfig::default().with_ageing(MS);
    mismatch(asked.check_stored(&stored), &["ageing", "none", "1 ms"]);
    let stored = RotatingConfig::default().with_pace(2 * MS);
    let asked = RotatingConfig::default();
    mismatch(asked.check_stored(&stored), &["pace", "2 ms", "none"]);
    let stored = BoundedConfig::new(10);
    let asked = BoundedConfig::new(20);
    mismatch(
        asked.check_stored(&stored, false),
        &["capacity", "10", "20", "bounded_or_resize"],
    );
}

#[test]
fn after_a_resize_the_stored_capacity_wins() {
    assert!(
        BoundedConfig::new(20)
            .check_stored(&BoundedConfig::new(10), true)
            .is_ok()
    );
}

#[test]
fn what_is_stored_in_milliseconds_is_compared_in_milliseconds() {
    let stored = RotatingConfig::default().with_pace(MS);
    let asked = RotatingConfig::default().with_pace(Duration::from_micros(300));
    assert!(asked.check_stored(&stored).is_ok());
}

#[test]
fn the_body_limit_is_this_handles_own() {
    let stored = ReliableConfig::default().with_max_body(10);
    assert!(ReliableConfig::default().check_stored(&stored).is_ok());
}
