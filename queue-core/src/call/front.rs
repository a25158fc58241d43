use std::sync::Arc;

use super::Service;
use crate::{AnyQueue, QueueKind};

/// A [`Service`] as a queue of any kind.
#[derive(Debug, Clone)]
pub struct Front(Arc<dyn Service>);

impl Front {
    /// A queue that hands every call to this service.
    pub const fn of(service: Arc<dyn Service>) -> Self {
        Self(service)
    }

    /// The same, as a queue of this kind.
    pub fn queue(self, kind: QueueKind) -> AnyQueue {
        match kind {
            QueueKind::Reliable => AnyQueue::Reliable(Arc::new(self)),
            QueueKind::Delay => AnyQueue::Delay(Arc::new(self)),
            QueueKind::Priority => AnyQueue::Priority(Arc::new(self)),
            QueueKind::Bounded => AnyQueue::Bounded(Arc::new(self)),
            QueueKind::Rotating => AnyQueue::Rotating(Arc::new(self)),
        }
    }

    pub(super) fn service(&self) -> &dyn Service {
        &*self.0
    }
}
