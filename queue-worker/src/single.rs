//! A worker on one queue.

use std::{future::Future, sync::Arc, time::Duration};

use queue_core::{Consumer, Result, Spawn};

use super::{
    Backoff, Context, Health, IntoVerdict, IntoVerdicts, Report,
    batch::Batch,
    handler::{Handle, Single},
    runner,
    settings::{Pool, Terms, pool_setters, terms_setters},
    source::Source,
};

/// Runs a handler for every message of one queue, of any kind that leases.
///
/// Nothing happens before [`run_until`](Self::run_until) or one of its siblings is awaited. See
/// the [module](super) for what it does, and [`Workers`](super::Workers) for several queues.
#[must_use = "it does nothing until it is run"]
#[derive(Debug)]
pub struct Worker<T> {
    consumer: Consumer<T>,
    pool: Pool,
    terms: Terms,
    health: Health,
}

impl<T: Send + 'static> Worker<T> {
    /// A worker on this queue, with one slot.
    pub fn new(queue: impl Into<Consumer<T>>) -> Self {
        let consumer = queue.into();
        Self {
            terms: Terms::of(&consumer),
            consumer,
            pool: Pool::default(),
            health: Health::new(),
        }
    }

    pool_setters!();
    terms_setters!();

    /// Handles messages until `shutdown` ends, then drains, and reports.
    ///
    /// Everything inside runs in this future and in handlers' tasks; dropping it is a crash.
    ///
    /// # Errors
    ///
    /// `Invalid` for settings that cannot be meant, before anything is done. A backend that fails
    /// is no error of this call: it is tried again.
    pub async fn run_until<H, F>(
        self,
        shutdown: impl Future<Output = ()> + Send,
        handler: H,
    ) -> Result<Report>
    where
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        let consumer = self.consumer.clone();
        let handler = Arc::new(Single { consumer, handler });
        self.run_source(shutdown, handler).await
    }

    /// Handles messages for ever.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until).
    pub async fn run<H, F>(self, handler: H) -> Result<Report>
    where
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        self.run_until(std::future::pending(), handler).await
    }

    /// As [`run_until`](Self::run_until), with a handler that gets up to `max` messages at once:
    /// those that are there, it does not wait for more. Each is settled by its own verdict, and
    /// each has its own lease and context. One batch takes one slot.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until), and `Invalid` if `max` is 0 or over 128.
    pub async fn run_batches_until<H, F>(
        mut self,
        max: usize,
        shutdown: impl Future<Output = ()> + Send,
        handler: H,
    ) -> Result<Report>
    where
        H: Fn(Vec<(T, Context)>) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdicts> + Send + 'static,
    {
        self.terms.batch = max;
        let consumer = self.consumer.clone();
        let handler = Arc::new(Batch { consumer, handler });
        self.run_source(shutdown, handler).await
    }

    async fn run_source(
        self,
        shutdown: impl Future<Output = ()> + Send,
        handler: Arc<dyn Handle>,
    ) -> Result<Report> {
        let queue = Arc::clone(self.consumer.queue());
        let source = Source::new(queue, handler, self.terms);
        runner::run(self.pool, vec![source], self.health, shutdown).await
    }
}
