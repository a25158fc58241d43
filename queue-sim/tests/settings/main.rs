//! Every public setting that takes a duration or a count gets its smallest and its largest value. The
//! value is refused as `Invalid`, or it serves; nothing panics, wraps or spins.
//!
//! The table has a row for each public function in the sources that takes such a value. A new setting
//! fails the test until it has its row.

#![cfg(unix)]

mod calls;
mod queues;
mod redis;
mod row;
mod schedules;
mod simulator;
mod sources;
mod worker;

use std::collections::BTreeSet;

use self::{row::Row, sources::Setting};

/// Functions that take a duration or a count, but are not settings.
const NO_SETTINGS: &[(&str, &[&str])] = &[
    // These are the checks themselves.
    (
        "queue-core/src/values/limits.rs",
        &[
            "lease_millis",
            "window_millis",
            "unique_millis",
            "result_millis",
            "rule_millis",
            "check_weight",
            "check_progress",
            "check_result",
            "within_millis",
            "claim_millis",
            "keep_millis",
            "delay_millis",
            "longest_wait_millis",
            "time_to_live_millis",
            "check_batch",
            "check_max",
            "check_page",
            "check_sizes",
            "fitting",
        ],
    ),
    ("queue-core/src/queue/push.rs", &["check_all"]),
    ("queue-core/src/backend/removal.rs", &["check"]),
    ("queue-core/src/values/time_to_live.rs", &["check"]),
    ("queue-core/src/queue/bounded.rs", &["check_capacity"]),
    ("queue-core/src/queue/priority.rs", &["ageing_of_ready"]),
    (
        "queue-core/src/queue/grouped.rs",
        // The suite checks the ranges of rules.
        &["order_of_held", "lasting", "with_weight", "with_at_once"],
    ),
    ("queue-core/src/queue/mod.rs", &["order_of_kept"]),
    (
        "queue-core/src/queue/rotating.rs",
        &["check_all", "new", "pace_of_many"],
    ),
    // Values of which every one is valid.
    ("queue-core/src/values/id.rs", &["new"]),
    ("queue-core/src/backend/facts.rs", &["new"]),
    ("queue-core/src/values/page.rs", &["new"]),
    (
        "queue-core/src/values/time.rs",
        &["from_millis", "plus_millis"],
    ),
    ("queue-core/src/values/trace_parent.rs", &["new"]),
    (
        "queue-core/src/queue/settlement.rs",
        &["nothing", "with_at_most"],
    ),
    // What backends answer.
    ("queue-core/src/once/store.rs", &["new"]),
    ("queue-core/src/queue/dead.rs", &["new"]),
    ("queue-core/src/queue/find.rs", &["dead", "present"]),
    ("queue-core/src/queue/grouped.rs", &["new"]),
    ("queue-core/src/queue/message.rs", &["new"]),
    (
        "queue-core/src/queue/peek.rs",
        &["delayed", "leased", "new"],
    ),
    ("queue-core/src/values/counters.rs", &["new"]),
    ("queue-worker/src/test_context.rs", &["age"]),
    (
        "queue-core/src/values/millis.rs",
        &["millis_ceil", "in_millis"],
    ),
    ("queue-worker/src/settings.rs", &["seed"]),
    (
        "queue-redis/src/backend/builder.rs",
        &["jitter_seed", "tag_calls"],
    ),
    // Any number of seeds is valid, and `choose` returns a number below its argument.
    ("queue-sim/src/sim/variables.rs", &["seeds_or"]),
    ("queue-sim/src/sim/run.rs", &["choose", "sleep"]),
];

fn rows() -> Vec<Row> {
    let parts = [
        queues::rows(),
        calls::rows(),
        worker::rows(),
        redis::rows(),
        schedules::rows(),
        simulator::rows(),
    ];
    parts.into_iter().flatten().collect()
}

#[test]
fn each_setting_refuses_its_extreme_values_or_serves_with_them() {
    let wrong: Vec<String> = rows().iter().flat_map(Row::mistakes).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_setting_is_in_the_table() {
    let rows: BTreeSet<Setting> = rows().iter().map(Row::setting).collect();
    let others = NO_SETTINGS.iter().flat_map(|(file, names)| {
        let setting = |name: &&str| Setting::new(file, name);
        names.iter().map(setting).collect::<Vec<_>>()
    });
    let listed: BTreeSet<Setting> = rows.into_iter().chain(others).collect();
    let found = sources::settings();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "settings without a row: {missing:#?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "rows of nothing: {gone:#?}");
}
