use std::sync::Arc;

use super::Service;

/// A [`Service`] as a queue of any kind: what [`AnyQueue::behind`](crate::AnyQueue::behind) makes.
#[derive(Debug, Clone)]
pub struct Front(Arc<dyn Service>);

impl Front {
    /// A queue that hands every call to this service.
    pub const fn of(service: Arc<dyn Service>) -> Self {
        Self(service)
    }

    pub(super) fn service(&self) -> &dyn Service {
        &*self.0
    }
}
