//! A worker on several queues.

use std::{future::Future, sync::Arc, time::Duration};

use queue_core::{Consumer, Result, Spawn};

use super::{
    Backoff, Context, Health, IntoVerdict, IntoVerdicts, Report, Sharing,
    batch::Batch,
    handler::{Handle, Single},
    runner,
    settings::{Pool, Terms, pool_setters, terms_setters},
    source::Source,
};

/// A queue of one of [`Workers`], and the terms on which it is served.
#[must_use = "it does nothing until it is added"]
#[derive(Debug)]
pub struct Route<T> {
    consumer: Consumer<T>,
    terms: Terms,
}

impl<T: Send + 'static> Route<T> {
    /// Serves this queue.
    pub fn new(queue: impl Into<Consumer<T>>) -> Self {
        let consumer = queue.into();
        Self {
            terms: Terms::of(&consumer),
            consumer,
        }
    }

    /// Its share of the slots, beside the other queues' weights. 1 by default; without meaning
    /// where queues are served in order.
    pub fn weight(mut self, weight: u32) -> Self {
        self.terms.weight = weight;
        self
    }

    /// It takes no more slots than this, even if the others leave more.
    pub fn at_most(mut self, slots: usize) -> Self {
        self.terms.at_most = Some(slots);
        self
    }

    terms_setters!();
}

/// One worker on several queues, each of a type, a handler and terms of its own, which share its
/// slots.
///
/// While a queue cannot be reached, the others are served.
#[must_use = "it does nothing until it is run"]
#[derive(Debug)]
pub struct Workers {
    pool: Pool,
    sources: Vec<Source>,
    health: Health,
}

impl Workers {
    /// Shares the slots in this way.
    pub fn new(sharing: Sharing) -> Self {
        Self {
            pool: Pool {
                sharing,
                ..Pool::default()
            },
            sources: Vec::new(),
            health: Health::new(),
        }
    }

    /// Shares the slots by the routes' weights.
    pub fn by_weight() -> Self {
        Self::new(Sharing::ByWeight)
    }

    /// Serves the routes strictly in the order they are added.
    pub fn in_order() -> Self {
        Self::new(Sharing::InOrder)
    }

    pool_setters!();

    /// Serves this queue with this handler.
    pub fn add<T, H, F>(mut self, route: Route<T>, handler: H) -> Self
    where
        T: Send + 'static,
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        let consumer = route.consumer.clone();
        self.push(route, Arc::new(Single { consumer, handler }));
        self
    }

    /// Serves this queue with a handler that gets up to `max` messages at once.
    pub fn add_batches<T, H, F>(mut self, max: usize, mut route: Route<T>, handler: H) -> Self
    where
        T: Send + 'static,
        H: Fn(Vec<(T, Context)>) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdicts> + Send + 'static,
    {
        route.terms.batch = max;
        let consumer = route.consumer.clone();
        self.push(route, Arc::new(Batch { consumer, handler }));
        self
    }

    fn push<T>(&mut self, route: Route<T>, handler: Arc<dyn Handle>)
    where
        T: Send + 'static,
    {
        let queue = Arc::clone(route.consumer.queue());
        self.sources.push(Source::new(queue, handler, route.terms));
    }

    /// Handles messages until `shutdown` ends, then drains, and reports.
    ///
    /// # Errors
    ///
    /// `Invalid` for settings that cannot be meant, or if there is no queue, before anything is
    /// done.
    pub async fn run_until(self, shutdown: impl Future<Output = ()> + Send) -> Result<Report> {
        runner::run(self.pool, self.sources, self.health, shutdown).await
    }

    /// Handles messages for ever.
    ///
    /// # Errors
    ///
    /// Those of [`run_until`](Self::run_until).
    pub async fn run(self) -> Result<Report> {
        self.run_until(std::future::pending()).await
    }
}
