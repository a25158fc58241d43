//! Layers in front of queues.

use std::{fmt::Debug, future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;

use super::{Answer, Call, Service};
use crate::{Confirmer, OnceStore, QueueName, Result};

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
