//! Calls of the queue traits as data, and the services that make them.
//!
//! A [`Call`] is one call of one method, with its arguments; an [`Answer`] is its result. A [`Service`] makes
//! calls. [`AnyQueue`](crate::AnyQueue) makes a service of a queue, and
//! [`AnyQueue::behind`](crate::AnyQueue::behind) makes a queue of a service.
//! So a [`Layer`] between a caller and its queue sees all verbs of all kinds as one call: it records, counts,
//! delays, encrypts or refuses it. [`Layered`](crate::Layered) puts a layer in front of every queue of a backend:
//!
//! ```
//! use std::{sync::{Arc, atomic::{AtomicU64, Ordering}}, time::Duration};
//! use queue_core::{Backend, Layered, QueueName, Result, call::{Answer, Call, Layer, Service}};
//!
//! /// Counts the calls of all queues.
//! #[derive(Debug, Clone, Default)]
//! struct Counting(Arc<AtomicU64>);
//!
//! #[async_trait::async_trait]
//! impl Layer for Counting {
//!     async fn call(&self, _: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
//!         self.0.fetch_add(1, Ordering::Relaxed);
//!         queue.call(call).await
//!     }
//! }
//!
//! fn counted(backend: Arc<dyn Backend>) -> (Counting, impl Backend) {
//!     let counting = Counting::default();
//!     (counting.clone(), Layered::new(counting, backend))
//! }
//! ```

mod answer;
mod any;
mod front;
mod layer;
mod verbs;

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;

use crate::{Confirmer, Result};

pub(crate) use self::answer::Answered;
#[doc(hidden)]
pub use self::front::Front;
pub use self::{
    answer::Answer,
    layer::{Layer, Step},
    verbs::Call,
};

/// Makes calls: a queue, or a layer in front of a queue.
#[async_trait]
pub trait Service: Debug + Send + Sync + 'static {
    /// Makes the call. Dropping the future has the effect of dropping the queue method's own.
    ///
    /// # Errors
    ///
    /// The errors of the method that `call` stands for.
    async fn call(&self, call: Call) -> Result<Answer>;

    /// The confirmer of this service's calls (R2), if it has one. A layer passes on the confirmer of the
    /// service behind it; by default its queue confirms nothing.
    fn confirmer(&self) -> Option<Arc<dyn Confirmer>> {
        None
    }
}
