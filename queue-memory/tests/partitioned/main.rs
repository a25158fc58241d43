//! Queues of several parts, on the memory backend.

mod counted;
mod keys;
mod leasing;
mod opening;
mod planted;
mod suite;
mod waiting;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::{Backend, Partitioned, QueueName};
use queue_memory::MemoryBackend;

const LEASE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A fresh backend of queues of so many parts.
fn fresh(parts: usize) -> Partitioned {
    on(&memory(), parts)
}

fn memory() -> Arc<dyn Backend> {
    Arc::new(MemoryBackend::new())
}

fn on(backend: &Arc<dyn Backend>, parts: usize) -> Partitioned {
    let partitioned = Partitioned::new(Arc::clone(backend), parts);
    partitioned
        .expect("a number that is allowed")
        .beginning_at(0)
}

fn name(name: &str) -> QueueName {
    QueueName::new(name).expect("a good name")
}

fn count(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not zero")
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
