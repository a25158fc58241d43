//! The queues that the loop takes messages from.

use std::{fmt, sync::Arc};

use queue_core::Leasing;

use super::{handler::JobHandler, settings::RouteSettings};

/// A queue, its handler and its terms, with the value's type erased.
pub(crate) struct Source {
    pub(crate) queue: Arc<dyn Leasing>,
    pub(crate) handler: Arc<dyn JobHandler>,
    pub(crate) terms: RouteSettings,
}

impl Source {
    pub(crate) fn new(
        queue: Arc<dyn Leasing>,
        handler: Arc<dyn JobHandler>,
        terms: RouteSettings,
    ) -> Self {
        Self {
            queue,
            handler,
            terms,
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("queue", &self.queue)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}
