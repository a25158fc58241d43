//! The part that all contexts of one queue of a worker share.

use std::sync::Arc;

use queue_core::Leasing;
use tokio::sync::watch;

use super::families::WaitingParents;

/// One queue of a worker, as its handlers see it.
#[derive(Debug)]
pub(crate) struct QueueScope {
    /// The worker's name for the queue.
    pub(crate) name: Arc<str>,
    /// The queue; `None` in a test of a handler.
    pub(crate) queue: Option<Arc<dyn Leasing>>,
    /// Whether the worker's shutdown has begun.
    pub(crate) shutting_down: Arc<watch::Sender<bool>>,
    /// Jobs of the queue that wait for children.
    pub(crate) parents: WaitingParents,
}
