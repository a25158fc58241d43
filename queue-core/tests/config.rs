//! Configurations: their limits, and the error for a stored one that differs.

use std::time::Duration;

use queue_core::{
    BoundedConfig, DelayConfig, Error, ErrorKind, PriorityConfig, QueueConfig, ReliableConfig,
    RotatingConfig, limits,
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
    let (reliable, delay) = (ReliableConfig::default, DelayConfig::default);
    let (priority, ring) = (PriorityConfig::default, RotatingConfig::default);
    let too_large = limits::MAX_BATCH_BYTES + 1;
    let bad: [(QueueConfig, &str); 11] = [
        (reliable().with_max_attempts(0).into(), "max_attempts"),
        (
            delay().with_dead_letter_cap(u64::MAX).into(),
            "dead_letter_cap",
        ),
        (reliable().with_max_body(0).into(), "max_body of 0"),
        (reliable().with_max_body(too_large).into(), "max_body"),
        (BoundedConfig::new(0).into(), "capacity of 0"),
        (BoundedConfig::new(usize::MAX).into(), "capacity"),
        (priority().with_ageing(Duration::ZERO).into(), "ageing"),
        (priority().with_ageing(Duration::MAX).into(), "ageing"),
        (ring().with_pace(Duration::ZERO).into(), "pace"),
        (ring().with_pace(Duration::MAX).into(), "pace"),
        (ring().with_max_body(0).into(), "max_body"),
    ];
    for (config, name) in bad {
        fails(config.check(), ErrorKind::Invalid, &[name]);
    }
}

#[test]
fn the_edges_are_allowed() {
    let edges: [QueueConfig; 5] = [
        ReliableConfig::default().with_max_attempts(1).into(),
        DelayConfig::default().with_dead_letter_cap(0).into(),
        BoundedConfig::new(1)
            .with_max_body(limits::MAX_BATCH_BYTES)
            .into(),
        PriorityConfig::default().with_ageing(MS).into(),
        RotatingConfig::default().with_pace(MS).into(),
    ];
    for config in edges {
        assert!(config.check().is_ok(), "{config:?}");
    }
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
        &["capacity", "10", "20", "open_or_resize"],
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
fn a_pace_is_compared_in_milliseconds_as_stored() {
    let stored = RotatingConfig::default().with_pace(MS);
    let asked = RotatingConfig::default().with_pace(Duration::from_micros(300));
    assert!(asked.check_stored(&stored).is_ok());
}

#[test]
fn the_body_limit_is_this_handles_own() {
    let stored = ReliableConfig::default().with_max_body(10);
    assert!(ReliableConfig::default().check_stored(&stored).is_ok());
}
