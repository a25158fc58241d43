//! A worker on one queue.

use std::{future::Future, sync::Arc, time::Duration};

use queue_core::{Bytes, Consumer, Result, Spawn};

use super::{
    Backoff, Context, Control, HandlerLayer, Health, IntoVerdict, IntoVerdicts, Report, Route,
    Router, Workers,
    settings::{terms_setters, worker_setters},
};

/// Runs a handler for every message of one queue of any leasing kind.
///
/// The worker does nothing before the caller awaits [`run_until`](Self::run_until) or one of its siblings.
/// The [crate](crate) describes a running worker; [`Workers`](super::Workers) serves several queues.
#[must_use = "it does nothing until it is run"]
#[derive(Debug)]
pub struct Worker<T> {
    route: Route<T>,
    workers: Workers,
}

impl Worker<Bytes> {
    /// Serves a queue of jobs with this router. Settings of the queue, such as [`lease`](Self::lease), come before;
    /// settings of the worker may come after.
    pub fn router<C>(self, router: Router<C>) -> Workers
    where
        C: Clone + Send + Sync + 'static,
    {
        self.workers.add_router(self.route, router)
    }
}

impl<T: Send + 'static> Worker<T> {
    /// A worker on this queue, with one slot.
    pub fn new(queue: impl Into<Consumer<T>>) -> Self {
        Self {
            route: Route::new(queue),
            workers: Workers::by_weight(),
        }
    }

    worker_setters!(workers);
    terms_setters!(route);

    /// Handles messages until `shutdown` ends, then drains, and reports.
    ///
    /// The worker runs in this future and in handlers' tasks. If `block_on` polls this future on a runtime of several
    /// threads, the worker runs in a task of that runtime. Dropping the future is a crash: it stops all of these tasks,
    /// each at its next await.
    ///
    /// # Errors
    ///
    /// `Invalid` for bad settings, and `Configuration` outside of a tokio runtime, before the worker does
    /// anything. A failing backend is no error of this call: the worker tries again.
    pub async fn run_until<H, F>(
        self,
        shutdown: impl Future<Output = ()> + Send,
        handler: H,
    ) -> Result<Report>
    where
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        let workers = self.workers.add(self.route, handler);
        workers.run_until(shutdown).await
    }

    /// Handles messages for ever.
    ///
    /// # Errors
    ///
    /// The errors of [`run_until`](Self::run_until).
    pub async fn run<H, F>(self, handler: H) -> Result<Report>
    where
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        self.run_until(std::future::pending(), handler).await
    }

    /// As [`run_until`](Self::run_until), with a handler that gets up to `max` messages at once. The worker
    /// does not wait until a batch is full. Each message has its own lease, context and verdict. One batch
    /// takes one slot.
    ///
    /// # Errors
    ///
    /// The errors of [`run_until`](Self::run_until), and `Invalid` if `max` is 0 or over 128.
    pub async fn run_batches_until<H, F>(
        self,
        max: usize,
        shutdown: impl Future<Output = ()> + Send,
        handler: H,
    ) -> Result<Report>
    where
        H: Fn(Vec<(T, Context)>) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdicts> + Send + 'static,
    {
        let workers = self.workers.add_batches(max, self.route, handler);
        workers.run_until(shutdown).await
    }
}
