//! The suite on the memory backend: in virtual time, on threads, and on a slow machine.

#[path = "conformance/slow.rs"]
mod slow;

use queue_conformance::{Capability, Harness, InVirtualTime, OnThreads};
use queue_core::QueueKind;
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

/// The numbers of the rules in the contract's paragraphs with this beginning.
fn rules(beginning: &str) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../CONTRACT.md");
    let contract = std::fs::read_to_string(page).expect("the contract");
    let stated = contract.lines().filter(|line| line.starts_with(beginning));
    let bold = stated.flat_map(|line| line.split("**").skip(1).step_by(2));
    let numbers = bold.filter_map(|words| words.split(' ').next());
    let is_number = |word: &&str| {
        let digits = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
        word.len() == digits.len() + 1 && digits.parse::<u32>().is_ok()
    };
    let numbers: Vec<_> = numbers.filter(is_number).map(str::to_lowercase).collect();
    assert!(!numbers.is_empty(), "{page} has no rule at {beginning}");
    numbers
}

#[test]
fn every_rule_has_a_case() {
    let mut expected = Vec::new();
    let mut expect = |group: &str, rules: &[String], more: &[&str]| {
        let rules = rules.iter().map(String::as_str);
        expected.extend(
            rules
                .chain(more.iter().copied())
                .map(|rule| format!("{group}::{rule}_")),
        );
    };
    let on_every_kind = ["d1", "d4", "b7"].map(str::to_owned);
    let leasing = [rules("- **L"), rules("- **R1"), on_every_kind.into()].concat();
    for kind in QueueKind::ALL {
        let name = kind.as_str();
        let own = format!("**{}{}**", name[..1].to_uppercase(), &name[1..]);
        expect(name, &rules(&own), &["limits", "waiting"]);
        if QueueKind::LEASING.contains(&kind) {
            // A message that returns to a delay queue is ordered by its due time (L11, D2).
            let of_this_kind = |rule: &&String| kind != QueueKind::Delay || *rule != "l11";
            let rules: Vec<String> = leasing.iter().filter(of_this_kind).cloned().collect();
            expect(name, &rules, &["batches", "configuration", "operators"]);
        }
    }
    expect("once", &rules("- **O"), &["limits", "operators"]);
    expect("backend", &[], &["configuration", "limits", "operators"]);
    for start in expected {
        let names = queue_conformance::cases().iter().map(|case| case.name());
        assert!(
            names.clone().any(|name| name.starts_with(&start)),
            "no case is {start}…"
        );
    }
}
