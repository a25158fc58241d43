use std::{fmt::Debug, future::Future, num::NonZeroUsize, pin::Pin, sync::Arc};

use async_trait::async_trait;
use queue_core::{
    Backend, BoundedConfig, BoundedQueue, DelayConfig, DelayQueue, OnceStore, PriorityConfig,
    PriorityQueue, QueueInfo, QueueName, ReliableConfig, ReliableQueue, Result, RotatingConfig,
    RotatingQueue,
};

use super::{Direct, Front, Service};

/// The opening of a bounded queue, under way.
pub type Opening<'a> = Pin<Box<dyn Future<Output = Result<Arc<dyn BoundedQueue>>> + Send + 'a>>;

/// What is put in front of a queue when it is opened.
pub trait Layer: Debug + Send + Sync + 'static {
    /// The service in front of this one, which is the queue of that name, or other layers before
    /// it.
    fn before(&self, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service>;

    /// What is put in front of the store of once keys of that name, which is no queue: nothing,
    /// unless a layer says otherwise.
    fn before_once(&self, _name: &QueueName, store: Arc<dyn OnceStore>) -> Arc<dyn OnceStore> {
        store
    }

    /// What is put in front of an opening that gives a queue this capacity, which is the one that
    /// changes what is in it: nothing, unless a layer says otherwise.
    fn before_resizing<'a>(
        &'a self,
        _name: &'a QueueName,
        _capacity: NonZeroUsize,
        opening: Opening<'a>,
    ) -> Opening<'a> {
        opening
    }
}

/// A backend with a [`Layer`] in front of each of its queues.
#[derive(Debug, Clone)]
pub struct Behind<L> {
    layer: L,
    backend: Arc<dyn Backend>,
}

impl<L: Layer> Behind<L> {
    /// Puts the layer in front of the backend's queues.
    pub const fn new(layer: L, backend: Arc<dyn Backend>) -> Self {
        Self { layer, backend }
    }

    fn front(&self, name: &QueueName, queue: Direct) -> Arc<Front> {
        Arc::new(Front::of(self.layer.before(name, Arc::new(queue))))
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<L: Layer> Backend for Behind<L> {
    async fn open_reliable(
        &self,
        name: &QueueName,
        config: &ReliableConfig,
    ) -> Result<Arc<dyn ReliableQueue>> {
        let queue = self.backend.open_reliable(name, config).await?;
        Ok(self.front(name, Direct::Reliable(queue)))
    }

    async fn open_delay(
        &self,
        name: &QueueName,
        config: &DelayConfig,
    ) -> Result<Arc<dyn DelayQueue>> {
        let queue = self.backend.open_delay(name, config).await?;
        Ok(self.front(name, Direct::Delay(queue)))
    }

    async fn open_priority(
        &self,
        name: &QueueName,
        config: &PriorityConfig,
    ) -> Result<Arc<dyn PriorityQueue>> {
        let queue = self.backend.open_priority(name, config).await?;
        Ok(self.front(name, Direct::Priority(queue)))
    }

    async fn open_bounded(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let queue = self.backend.open_bounded(name, config).await?;
        Ok(self.front(name, Direct::Bounded(queue)))
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
        Ok(self.front(name, Direct::Bounded(queue)))
    }

    async fn open_rotating(
        &self,
        name: &QueueName,
        config: &RotatingConfig,
    ) -> Result<Arc<dyn RotatingQueue>> {
        let queue = self.backend.open_rotating(name, config).await?;
        Ok(self.front(name, Direct::Rotating(queue)))
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let store = self.backend.open_once(name).await?;
        Ok(self.layer.before_once(name, store))
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.backend.queues(after, limit).await
    }
}
