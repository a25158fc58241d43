//! A worker on several queues.

use std::{future::Future, sync::Arc, time::Duration};

use queue_core::{Bytes, Consumer, Result, Spawn};

use super::{
    Backoff, Context, Control, HandlerLayer, Health, IntoVerdict, IntoVerdicts, Report, Router,
    Sharing,
    batch::Batch,
    handler::{JobHandler, Single},
    runner,
    settings::{RouteSettings, WorkerSettings, terms_setters, worker_setters},
    source::Source,
};

/// A queue for [`Workers`], and the terms on which they serve it.
#[must_use = "it does nothing until it is added"]
#[derive(Debug)]
pub struct Route<T> {
    consumer: Consumer<T>,
    pub(super) terms: RouteSettings,
}

impl<T: Send + 'static> Route<T> {
    /// Serves this queue.
    pub fn new(queue: impl Into<Consumer<T>>) -> Self {
        let consumer = queue.into();
        Self {
            terms: RouteSettings::of(&consumer),
            consumer,
        }
    }

    /// Sets its share of the slots, relative to the other queues' weights. 1 by default. It has no effect if
    /// the worker serves queues in order.
    pub fn weight(mut self, weight: u32) -> Self {
        self.terms.weight = weight;
        self
    }

    /// Limits this queue to `slots` slots, even if the other queues leave more free.
    pub fn at_most(mut self, slots: usize) -> Self {
        self.terms.at_most = Some(slots);
        self
    }

    terms_setters!();

    fn decoder(&self) -> impl Fn(&Bytes) -> Result<T> + Send + Sync + use<T> {
        let consumer = self.consumer.clone();
        move |body: &Bytes| consumer.decode(body)
    }
}

/// One worker on several queues, which share its slots. Each queue has its own type, handler and
/// terms.
///
/// While it cannot reach one queue, it serves the others.
#[must_use = "it does nothing until it is run"]
#[derive(Debug)]
pub struct Workers {
    pub(super) settings: WorkerSettings,
    sources: Vec<Source>,
    pub(super) health: Health,
    pub(super) control: Control,
}

impl Workers {
    /// A worker that shares its slots by this rule.
    pub fn new(sharing: Sharing) -> Self {
        Self {
            settings: WorkerSettings {
                sharing,
                ..WorkerSettings::default()
            },
            sources: Vec::new(),
            health: Health::new(),
            control: Control::new(),
        }
    }

    /// A worker that shares its slots by the routes' weights.
    pub fn by_weight() -> Self {
        Self::new(Sharing::ByWeight)
    }

    /// A worker that serves the routes strictly in the order in which they are added.
    pub fn in_order() -> Self {
        Self::new(Sharing::InOrder)
    }

    worker_setters!();

    /// Serves this queue with this handler.
    pub fn add<T, H, F>(mut self, route: Route<T>, handler: H) -> Self
    where
        T: Send + 'static,
        H: Fn(T, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        let decode = route.decoder();
        self.push(route, Arc::new(Single { decode, handler }));
        self
    }

    /// Serves this queue of jobs with this router.
    pub fn add_router<C>(mut self, route: Route<Bytes>, router: Router<C>) -> Self
    where
        C: Clone + Send + Sync + 'static,
    {
        self.push(route, Arc::new(router));
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
        let decode = route.decoder();
        self.push(route, Arc::new(Batch { decode, handler }));
        self
    }

    fn push<T>(&mut self, route: Route<T>, handler: Arc<dyn JobHandler>)
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
    /// `Invalid` for bad settings, or if there is no queue, before the worker does anything.
    pub async fn run_until(self, shutdown: impl Future<Output = ()> + Send) -> Result<Report> {
        runner::run(
            self.settings,
            self.sources,
            self.health,
            self.control,
            shutdown,
        )
        .await
    }

    /// Handles messages for ever.
    ///
    /// # Errors
    ///
    /// The errors of [`run_until`](Self::run_until).
    pub async fn run(self) -> Result<Report> {
        self.run_until(std::future::pending()).await
    }
}
