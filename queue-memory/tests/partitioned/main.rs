//! Queues of several partitions, on the memory backend.

mod counted;
mod cut_short;
mod keys;
mod leasing;
mod opening;
mod planted;
mod suite;
mod waiting;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::{Layered, call::Layer, *};
use queue_memory::MemoryBackend;

const LEASE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A fresh backend of queues of `partitions` partitions.
fn fresh(partitions: usize) -> Partitioned {
    on(&memory(), partitions)
}

/// A fresh reliable queue of `partitions` partitions.
async fn reliable(partitions: usize) -> Arc<dyn ReliableQueue> {
    let config = ReliableConfig::default();
    let opened = fresh(partitions)
        .open_reliable(&name("jobs"), &config)
        .await;
    opened.expect("it opens")
}

/// A fresh reliable queue of `partitions` partitions, each behind `layer`.
async fn reliable_behind(layer: impl Layer, partitions: usize) -> Arc<dyn ReliableQueue> {
    let layered: Arc<dyn Backend> = Arc::new(Layered::new(layer, memory()));
    let config = ReliableConfig::default();
    let opened = on(&layered, partitions)
        .open_reliable(&name("jobs"), &config)
        .await;
    opened.expect("it opens")
}

/// A fresh delay queue of `partitions` partitions.
async fn delay(partitions: usize) -> Arc<dyn DelayQueue> {
    let config = DelayConfig::default();
    let opened = fresh(partitions).open_delay(&name("jobs"), &config).await;
    opened.expect("it opens")
}

/// A fresh bounded queue of `capacity`, and of `partitions` partitions.
async fn bounded(partitions: usize, capacity: usize) -> Arc<dyn BoundedQueue> {
    let config = BoundedConfig::new(capacity);
    let opened = fresh(partitions).open_bounded(&name("log"), &config).await;
    opened.expect("it opens")
}

fn memory() -> Arc<dyn Backend> {
    Arc::new(MemoryBackend::new())
}

fn on(backend: &Arc<dyn Backend>, partitions: usize) -> Partitioned {
    let partitioned = Partitioned::new(Arc::clone(backend), partitions);
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
