//! Layers in front of queues.

use std::{fmt::Debug, future::Future, num::NonZeroUsize, pin::Pin, sync::Arc};

use async_trait::async_trait;

use super::{Front, Service};
use crate::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Confirmation, Guarantees, OnceStore,
    QueueConfig, QueueInfo, QueueKind, QueueName, Removal, Result, StoredQueue,
};

/// The future that opens a bounded queue.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Result<Arc<dyn BoundedQueue>>> + Send + 'a>>;

/// The future that changes a queue's configuration.
pub type Changing<'a> = Pin<Box<dyn Future<Output = Result<bool>> + Send + 'a>>;

/// Wraps each queue when it is opened.
pub trait Layer: Debug + Send + Sync + 'static {
    /// Returns the service to put in front of `queue`, which is the queue of that name or a layer
    /// over it.
    fn before(&self, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service>;

    /// Wraps the store of once keys of that name, which is no queue. The default leaves it bare.
    fn before_once(&self, _name: &QueueName, store: Arc<dyn OnceStore>) -> Arc<dyn OnceStore> {
        store
    }

    /// Wraps an opening that gives a queue this capacity, the one kind of open that can drop
    /// messages. The default leaves it bare.
    fn before_resizing<'a>(
        &'a self,
        _name: &'a QueueName,
        _capacity: NonZeroUsize,
        opening: Opening<'a>,
    ) -> Opening<'a> {
        opening
    }

    /// Wraps a change of a queue's configuration. The default leaves it bare.
    fn before_reconfiguring<'a>(
        &'a self,
        _name: &'a QueueName,
        _config: &'a QueueConfig,
        changing: Changing<'a>,
    ) -> Changing<'a> {
        changing
    }
}

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

    fn front(&self, name: &QueueName, queue: AnyQueue) -> Arc<Front> {
        Arc::new(Front::of(self.layer.before(name, Arc::new(queue))))
    }
}

#[async_trait]
impl<L: Layer> Backend for Layered<L> {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let queue = self.backend.open(name, config).await?;
        let kind = queue.kind();
        Ok(AnyQueue::behind(self.front(name, queue), kind))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let mut opening: Opening<'_> = self.backend.open_or_resize(name, config);
        if let Some(capacity) = NonZeroUsize::new(config.capacity) {
            opening = self.layer.before_resizing(name, capacity, opening);
        }
        let queue = opening.await?;
        Ok(self.front(name, AnyQueue::Bounded(queue)))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let changing: Changing<'_> = self.backend.reconfigure(name, config);
        self.layer
            .before_reconfiguring(name, config, changing)
            .await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let stored = self.backend.open_stored(name).await?;
        Ok(stored.map(|StoredQueue { config, queue }| {
            let kind = queue.kind();
            let queue = AnyQueue::behind(self.front(name, queue), kind);
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

    /// The layer stands in front of those queues, too; they confirm if its service has a
    /// [`confirmer`](Service::confirmer).
    async fn confirmed(&self, confirmation: Confirmation) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Self {
            layer: Arc::clone(&self.layer),
            backend: self.backend.confirmed(confirmation).await?,
        }))
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
