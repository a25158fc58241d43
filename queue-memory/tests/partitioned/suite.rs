//! The suite on queues of one partition, which keep every rule, and of three.

use std::collections::BTreeMap;

use queue_conformance::{Capability, Ending, InVirtualTime, OnThreads, Skip, cases};
use queue_core::QueueKind;

use crate::fresh;

/// The kinds and features of a queue of several partitions.
fn divisible() -> Vec<Capability> {
    let kinds = QueueKind::LEASING.map(Capability::Kind).into_iter();
    kinds
        .chain([Capability::Once, Capability::Removal])
        .collect()
}

mod one_partition_keeps_everything {
    queue_conformance::suite!(queue_conformance::InVirtualTime::new(|| crate::fresh(1)));
}

mod three_partitions {
    queue_conformance::suite!(
        super::InVirtualTime::new(|| crate::fresh(3)).only(super::divisible())
    );
}

mod three_partitions_on_threads {
    queue_conformance::suite!(super::OnThreads::new(|| crate::fresh(3)).only(super::divisible()));
}

/// A rule that holds for each partition alone leaves out the cases that take the queue for one line; all
/// others play to their end.
#[test]
fn skipped_cases_belong_to_rules_that_hold_per_partition() {
    let (mut played, mut skipped) = (0, BTreeMap::<String, usize>::new());
    for case in cases() {
        let harness = InVirtualTime::new(|| fresh(3)).only(divisible());
        match case.run(&harness) {
            Ending::Played => played += 1,
            Ending::Skipped(Skip::Needs(missing)) => {
                assert_eq!(missing, QueueKind::Rotating.into(), "{}", case.name());
            }
            Ending::Skipped(Skip::Breaks { rule, .. }) => {
                *skipped.entry(rule.to_owned()).or_default() += 1;
            }
            Ending::Skipped(skip) => *skipped.entry(skip.to_string()).or_default() += 1,
        }
    }
    println!("{played} played; skipped: {skipped:#?}");
    assert!(
        played > 740,
        "only {played} cases play to their end: {skipped:#?}"
    );
}
