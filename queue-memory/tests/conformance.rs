//! The suite on the memory backend: in virtual time, on threads, and on a slow machine.

#[path = "conformance/slow.rs"]
mod slow;

use queue_conformance::{Capability, Harness, InVirtualTime, OnThreads};
use queue_memory::MemoryBackend;

queue_conformance::suite!(InVirtualTime::new(MemoryBackend::new));

mod on_threads {
    queue_conformance::suite!(super::OnThreads::new(super::MemoryBackend::new));
}

/// Here, every call also goes through a layer.
mod on_a_slow_machine {
    use std::time::Duration;

    use super::slow::SlowMachine;

    mod by_milliseconds {
        queue_conformance::suite!(super::SlowMachine::new(super::Duration::from_millis(3)));
    }

    mod by_seconds {
        queue_conformance::suite!(super::SlowMachine::new(super::Duration::from_secs(5)));
    }
}

#[test]
fn in_virtual_time_no_case_is_skipped() {
    let harness = InVirtualTime::new(MemoryBackend::new);
    let plan = queue_conformance::plan(&harness.capabilities());
    assert!(plan.skipped.is_empty(), "{:?}", plan.skipped);
    assert!(plan.played.len() > 500, "{} cases", plan.played.len());
}

#[test]
fn on_threads_what_is_skipped_needs_an_exact_clock() {
    let harness = OnThreads::new(MemoryBackend::new);
    let plan = queue_conformance::plan(&harness.capabilities());
    for (case, missing) in &plan.skipped {
        assert_eq!(*missing, Capability::ExactClock, "{}", case.name());
    }
    assert!(plan.played.len() > 250, "{} cases", plan.played.len());
}

#[test]
fn every_rule_has_a_case() {
    let leasing = ["reliable", "delay", "priority", "bounded"];
    let rules = [
        "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "l10", "l12", "l13", "l14", "l15",
        "l16", "r1",
    ];
    let mut expected: Vec<String> = Vec::new();
    for kind in leasing {
        for rule in rules
            .iter()
            .chain(&["batches", "limits", "operators", "waiting"])
        {
            expected.push(format!("{kind}::{rule}_"));
        }
        expected.push(format!("{kind}::configuration_"));
    }
    for kind in ["reliable", "priority", "bounded"] {
        expected.push(format!("{kind}::l11_"));
    }
    let own: [(&str, &[&str]); 7] = [
        ("reliable", &["d1", "f1", "f2"]),
        ("delay", &["d1", "d2", "d3", "d4", "d5"]),
        ("priority", &["d1", "p1", "p2", "p3", "p4"]),
        ("bounded", &["d1", "b1", "b2", "b3", "b4", "b5", "b6", "b7"]),
        ("rotating", &["t1", "t2", "t3", "t4", "waiting", "limits"]),
        ("backend", &["configuration", "limits", "operators"]),
        (
            "once",
            &["o1", "o2", "o3", "o4", "o5", "limits", "operators"],
        ),
    ];
    for (kind, rules) in own {
        expected.extend(rules.iter().map(|rule| format!("{kind}::{rule}_")));
    }
    for start in expected {
        let names = queue_conformance::cases().iter().map(|case| case.name());
        assert!(
            names.clone().any(|name| name.starts_with(&start)),
            "no case is {start}…"
        );
    }
}
