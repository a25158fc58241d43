//! The suite on queues of several parts, in memory.

use std::sync::Arc;

use queue_conformance::{Capability, InVirtualTime, OnThreads};
use queue_core::{Backend, Partitioned, QueueKind};
use queue_memory::MemoryBackend;

fn partitioned(parts: usize) -> Partitioned {
    let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    Partitioned::new(memory, parts).expect("a number that is allowed").beginning_at(0)
}

/// What a queue of several parts can be, and have.
fn divisible() -> Vec<Capability> {
    let kinds = QueueKind::LEASING.map(Capability::Kind).into_iter();
    kinds.chain([Capability::Once, Capability::Removal]).collect()
}

mod one_part_keeps_everything {
    queue_conformance::suite!(queue_conformance::InVirtualTime::new(|| super::partitioned(1)));
}

mod three_parts {
    queue_conformance::suite!(
        super::InVirtualTime::new(|| super::partitioned(3)).only(super::divisible())
    );
}

mod three_parts_on_threads {
    queue_conformance::suite!(super::OnThreads::new(|| super::partitioned(3)).only(super::divisible()));
}
