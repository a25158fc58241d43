//! The queues that the loop takes messages from.

use std::{fmt, sync::Arc};

use queue_core::{Error, Leasing, Result};

use super::{
    handler::JobHandler,
    settings::{RouteSettings, WorkerSettings},
};

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

impl Source {
    /// Refuses terms that make no sense, alone or for this worker.
    pub(crate) fn check(&self, worker: &WorkerSettings) -> Result<()> {
        self.terms.check()?;
        if !worker.layers.is_empty() && !self.handler.takes_layers() {
            return Err(Error::invalid(
                "a layer around a batch handler: a batch has no single context; do it in the handler",
            ));
        }
        let hold = self.terms.hold.map(|hold| hold.max(self.terms.lease));
        for job in self.handler.job_types()? {
            job.check(hold)?;
        }
        Ok(())
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
