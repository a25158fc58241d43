use std::sync::Arc;

use queue_core::{Backend, Leasing, QueueName, Result};

use crate::call::{Config, Direct};

/// Opens the run's queue.
pub(super) async fn open(
    backend: &dyn Backend,
    name: &QueueName,
    config: &Config,
) -> Result<Direct> {
    Ok(match config {
        Config::Reliable(config) => Direct::Reliable(backend.open_reliable(name, config).await?),
        Config::Delay(config) => Direct::Delay(backend.open_delay(name, config).await?),
        Config::Priority(config) => Direct::Priority(backend.open_priority(name, config).await?),
        Config::Bounded(config) => Direct::Bounded(backend.open_bounded(name, config).await?),
        Config::Rotating(config) => Direct::Rotating(backend.open_rotating(name, config).await?),
    })
}

/// The queue as one that leases, unless it is a ring.
pub(super) fn leasing(queue: &Direct) -> Option<Arc<dyn Leasing>> {
    Some(match queue {
        Direct::Reliable(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        Direct::Delay(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        Direct::Priority(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        Direct::Bounded(queue) => Arc::clone(queue) as Arc<dyn Leasing>,
        Direct::Rotating(_) => return None,
    })
}
