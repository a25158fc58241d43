//! Layers in front of queues.

use std::{fmt::Debug, future::Future, num::NonZeroUsize, pin::Pin, sync::Arc};

use async_trait::async_trait;

use super::{Answer, Call, Front, Service};
use crate::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Confirmation, Confirmer, Facts, Guarantees,
    OnceStore, QueueConfig, QueueInfo, QueueKind, QueueName, Removal, Result, StoredQueue,
    Timestamp,
};

/// The future of a step that a backend takes.
pub type Step<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Stands between a backend's queues and their callers. Calls that a layer does not implement pass through
/// unchanged.
#[async_trait]
pub trait Layer: Debug + Send + Sync + Sized + 'static {
    /// Makes a call to `queue`, which is the queue of that name or a layer over it. Dropping the
    /// future has the effect of dropping the queue method's own.
    ///
    /// # Errors
    ///
    /// The errors of the method that `call` stands for.
    async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        queue.call(call).await
    }

    /// Whether the queue's confirmer also confirms calls through this layer (R2). By default nothing confirms
    /// them.
    fn confirms(&self) -> bool {
        false
    }

    /// Returns the service to put in front of `queue` when it is opened. The default makes its calls by
    /// [`call`](Self::call). A layer with state for each handle returns a service of its own instead, which
    /// then has its own [`confirmer`](Service::confirmer), too.
    fn before(self: &Arc<Self>, name: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
        Arc::new(Behind {
            layer: Arc::clone(self),
            name: name.clone(),
            queue,
        })
    }

    /// Wraps the store of once keys of that name, which is no queue.
    fn before_once(&self, _name: &QueueName, store: Arc<dyn OnceStore>) -> Arc<dyn OnceStore> {
        store
    }

    /// Wraps a step of the backend that is no call to an open queue. One such step changes a queue's
    /// configuration ([`Call::Reconfigure`]). The other opens a queue with another capacity
    /// ([`Call::OpenOrResize`]), the one kind of open that can drop messages.
    fn around<'a, T: Send + 'a>(
        &'a self,
        _name: &'a QueueName,
        _call: Call,
        step: Step<'a, T>,
    ) -> Step<'a, T> {
        step
    }
}

/// A queue behind a layer without state for each handle.
#[derive(Debug)]
struct Behind<L> {
    layer: Arc<L>,
    name: QueueName,
    queue: Arc<dyn Service>,
}

#[async_trait]
impl<L: Layer> Service for Behind<L> {
    async fn call(&self, call: Call) -> Result<Answer> {
        self.layer.call(&self.name, &self.queue, call).await
    }

    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        self.queue.confirmer().filter(|_| self.layer.confirms())
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
