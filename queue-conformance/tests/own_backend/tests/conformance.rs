//! The contract, on this backend.

use queue_conformance::{Harness, InVirtualTime, OnThreads};
use queue_core::QueueKind;
use shelf::Shelf;

const KINDS: [QueueKind; 1] = [QueueKind::Reliable];

mod in_virtual_time {
    queue_conformance::suite!(super::InVirtualTime::new(super::Shelf::default).only(super::KINDS));
}

mod on_threads {
    queue_conformance::suite!(super::OnThreads::new(super::Shelf::default).only(super::KINDS));
}

#[test]
fn no_case_about_our_kinds_is_skipped() {
    let harness = InVirtualTime::new(Shelf::default).only(KINDS);
    for (case, missing) in queue_conformance::plan(&harness.capabilities()).skipped {
        let ours = case.kind().is_some_and(|kind| KINDS.contains(&kind));
        assert!(!ours, "{} needs {missing}", case.name());
    }
}
