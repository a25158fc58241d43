use std::sync::Arc;

use queue_core::{Backend, QueueName, ReliableConfig, ReliableQueue, Result};

/// Opens a queue on this backend.
pub(crate) async fn open(backend: &dyn Backend, name: &str) -> Result<Arc<dyn ReliableQueue>> {
    let name = QueueName::new(name)?;
    let config = ReliableConfig::default();
    backend.open_reliable(&name, &config).await
}
