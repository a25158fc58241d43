//! Tower's layers around handlers, with the feature `tower`.

use std::{
    convert::Infallible,
    error::Error,
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context as Poller, Poll},
};

use tower_layer::Layer;
use tower_service::Service;

use super::{Context, Failure, HandlerLayer, Next, Verdict};

/// Makes a [`HandlerLayer`] of any layer of tower whose service handles a [`Handling`] and returns a [`Verdict`].
///
/// Each handling is one call of the service: a clone of it, made after `layer` has wrapped the handler once. So a
/// limit that tower's clones share, such as that of `ConcurrencyLimit`, is shared by all jobs of the worker. A job
/// waits until the service is ready; it holds its slot and its lease meanwhile. An error of the service, such as the
/// `Elapsed` of a `Timeout`, is a failed attempt for that reason.
///
/// ```
/// use std::time::Duration;
/// use queue_core::Reliable;
/// use queue_worker::{Tower, Worker};
/// use tower::{limit::ConcurrencyLimitLayer, timeout::TimeoutLayer};
///
/// # async fn example(mails: Reliable<String>) -> queue_core::Result<()> {
/// Worker::new(mails)
///     .concurrency(16)
///     .layer(Tower::new(&TimeoutLayer::new(Duration::from_secs(30))))
///     .layer(Tower::new(&ConcurrencyLimitLayer::new(4)))
///     .run(|mail: String, _| async move { println!("{mail}") })
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// To limit one type of job, use [`JobSettings::at_most`](crate::JobSettings::at_most), which holds no slot.
pub struct Tower<S> {
    // A service need not be `Sync`.
    service: Mutex<S>,
}

impl<S> Tower<S> {
    /// Wraps the worker's handler in this layer.
    pub fn new<L: Layer<Handler, Service = S>>(layer: &L) -> Self {
        Self {
            service: Mutex::new(layer.layer(Handler { _private: () })),
        }
    }
}

impl<S> HandlerLayer for Tower<S>
where
    S: Service<Handling, Response = Verdict> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
{
    async fn around(&self, cx: &Context, next: Next) -> Verdict {
        let mut service = {
            // No code panics while it clones, or the service is as it was.
            let service = self.service.lock().unwrap_or_else(PoisonError::into_inner);
            service.clone()
        };
        let handling = Handling {
            context: cx.clone(),
            next,
        };
        let handled = async {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            service.call(handling).await
        };
        let handled: Result<Verdict, S::Error> = handled.await;
        handled.unwrap_or_else(|error| Verdict::Failed(Failure::new(error)))
    }
}

impl<S> fmt::Debug for Tower<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tower").finish_non_exhaustive()
    }
}

/// One call of a handler, as a request to a service of tower.
#[derive(Debug)]
pub struct Handling {
    context: Context,
    next: Next,
}

impl Handling {
    /// The handler's view of its delivery.
    pub const fn context(&self) -> &Context {
        &self.context
    }
}

/// The worker's handler, as a service of tower: the innermost one. It is always ready, and has no errors of its own;
/// a handler's failure is a [`Verdict`].
#[derive(Debug, Clone)]
pub struct Handler {
    _private: (),
}

impl Service<Handling> for Handler {
    type Response = Verdict;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Verdict, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Poller<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, handling: Handling) -> Self::Future {
        Box::pin(async move { Ok(handling.next.run().await) })
    }
}
