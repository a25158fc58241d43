use std::sync::Arc;

use queue_core::{AnyQueue, Backend, Leasing, QueueConfig, QueueName, Result};

/// Opens the run's queue.
pub(super) async fn open(
    backend: &dyn Backend,
    name: &QueueName,
    config: &QueueConfig,
) -> Result<AnyQueue> {
    Ok(match config {
        QueueConfig::Reliable(config) => {
            AnyQueue::Reliable(backend.open_reliable(name, config).await?)
        }
        QueueConfig::Delay(config) => AnyQueue::Delay(backend.open_delay(name, config).await?),
        QueueConfig::Priority(config) => {
            AnyQueue::Priority(backend.open_priority(name, config).await?)
        }
        QueueConfig::Bounded(config) => {
            AnyQueue::Bounded(backend.open_bounded(name, config).await?)
        }
        QueueConfig::Rotating(config) => {
            AnyQueue::Rotating(backend.open_rotating(name, config).await?)
        }
    })
}

/// The queue as one that leases, unless it is a ring.
pub(super) fn leasing(queue: &AnyQueue) -> Option<Arc<dyn Leasing>> {
    Some(match queue {
        AnyQueue::Reliable(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        AnyQueue::Delay(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        AnyQueue::Priority(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        AnyQueue::Bounded(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        AnyQueue::Rotating(_) => return None,
    })
}
