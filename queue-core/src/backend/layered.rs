//! A layer in front of all queues of a backend.

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;

use super::{Backend, Facts, Guarantees, QueueInfo, Removal, StoredQueue};
use crate::{
    AnyQueue, BoundedConfig, BoundedQueue, Confirmation, OnceStore, QueueConfig, QueueKind,
    QueueName, Result, Timestamp,
    call::{Call, Front, Layer, Service},
};

/// A backend with a [`Layer`] in front of each of its queues.
#[derive(Debug, Clone)]
pub struct Layered<L> {
    layer: Arc<L>,
    backend: Arc<dyn Backend>,
}

impl<L: Layer> Layered<L> {
    /// Puts the layer in front of the backend's queues.
    pub fn new(layer: L, backend: Arc<dyn Backend>) -> Self {
        let layer = Arc::new(layer);
        Self { layer, backend }
    }

    fn service(&self, name: &QueueName, queue: AnyQueue) -> Arc<dyn Service> {
        self.layer.before(name, Arc::new(queue))
    }
}

#[async_trait]
impl<L: Layer> Backend for Layered<L> {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let queue = self.backend.open(name, config).await?;
        let kind = queue.kind();
        Ok(AnyQueue::behind(self.service(name, queue), kind))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let mut opening = self.backend.open_or_resize(name, config);
        if let Some(capacity) = NonZeroUsize::new(config.capacity) {
            let call = Call::OpenOrResize(capacity);
            opening = self.layer.around(name, call, opening);
        }
        let queue = opening.await?;
        let service = self.service(name, AnyQueue::Bounded(queue));
        Ok(Arc::new(Front::of(service)))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let changing = self.backend.reconfigure(name, config);
        let call = Call::Reconfigure(config.clone());
        self.layer.around(name, call, changing).await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let stored = self.backend.open_stored(name).await?;
        Ok(stored.map(|StoredQueue { config, queue }| {
            let kind = queue.kind();
            let queue = AnyQueue::behind(self.service(name, queue), kind);
            StoredQueue { config, queue }
        }))
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        self.backend.remove(name, removal).await
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let store = self.backend.open_once(name).await?;
        Ok(self.layer.before_once(name, store))
    }

    /// The layer is in front of those queues, too; they confirm if its service has a
    /// [`confirmer`](Service::confirmer).
    async fn confirmed(&self, confirmation: Confirmation) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Self {
            layer: Arc::clone(&self.layer),
            backend: self.backend.confirmed(confirmation).await?,
        }))
    }

    async fn now(&self) -> Result<Timestamp> {
        self.backend.now().await
    }

    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        self.backend.facts(name).await
    }

    async fn facts_of_each(&self, names: &[QueueName]) -> Vec<Result<Facts>> {
        self.backend.facts_of_each(names).await
    }

    fn guarantees(&self, kind: QueueKind) -> Guarantees {
        self.backend.guarantees(kind)
    }

    fn warnings(&self) -> Vec<String> {
        self.backend.warnings()
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.backend.queues(after, limit).await
    }
}
