//! Layers around handlers.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use super::{Context, Verdict};

type Handler = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// Code around each call of a handler: a transaction, a log line, a check, another verdict.
///
/// [`Worker::layer`](crate::Worker::layer) adds one; the layer that is added first is the outermost. A layer runs in
/// the job's own task, for a message whose body has been decoded. The timeout covers the layers and the handler
/// together. A panic in a layer is a failed attempt, like a panic in the handler. If the handler is cut off, the
/// layers' futures are dropped with it.
///
/// ```
/// use queue_worker::{Context, HandlerLayer, Next, Verdict, Worker};
/// # use queue_core::Reliable;
///
/// /// Logs each job that takes long.
/// struct Slow;
///
/// impl HandlerLayer for Slow {
///     async fn around(&self, cx: &Context, next: Next) -> Verdict {
///         let begin = tokio::time::Instant::now();
///         let verdict = next.run().await;
///         if begin.elapsed().as_secs() > 5 {
///             eprintln!("message {} took {:?}", cx.id(), begin.elapsed());
///         }
///         verdict
///     }
/// }
///
/// # async fn example(mails: Reliable<String>) -> queue_core::Result<()> {
/// Worker::new(mails).layer(Slow).run(|mail: String, _| async move { println!("{mail}") }).await?;
/// # Ok(())
/// # }
/// ```
///
/// A batch has no single context, so a worker with a batch handler and a layer is refused as `Invalid`.
pub trait HandlerLayer: Send + Sync + 'static {
    /// Runs around one call of the handler, and returns the verdict on the message. [`Next::run`] calls the
    /// handler, or the next layer; a layer that does not call it decides alone.
    fn around(&self, cx: &Context, next: Next) -> impl Future<Output = Verdict> + Send;
}

/// The handler and the layers further in.
#[must_use = "the handler is not called before `run`"]
pub struct Next {
    layers: Layers,
    /// How many layers are further out.
    passed: usize,
    context: Context,
    handler: Handler,
}

impl Next {
    /// Calls the handler, through the layers further in.
    pub async fn run(mut self) -> Verdict {
        let layers = self.layers.clone();
        let Some(layer) = layers.0.get(self.passed) else {
            return self.handler.await;
        };
        self.passed += 1;
        let context = self.context.clone();
        layer.around_boxed(&context, self).await
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// A layer behind a pointer.
trait BoxedLayer: Send + Sync {
    fn around_boxed<'a>(
        &'a self,
        cx: &'a Context,
        next: Next,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;
}

impl<L: HandlerLayer> BoxedLayer for L {
    fn around_boxed<'a>(
        &'a self,
        cx: &'a Context,
        next: Next,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(self.around(cx, next))
    }
}

/// A worker's layers, the outermost first.
#[derive(Clone, Default)]
pub(crate) struct Layers(Arc<Vec<Arc<dyn BoxedLayer>>>);

impl Layers {
    pub(crate) fn push(&mut self, layer: impl HandlerLayer) {
        Arc::make_mut(&mut self.0).push(Arc::new(layer));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Runs the handler inside of all layers.
    pub(crate) async fn run(&self, context: Context, handler: Handler) -> Verdict {
        let next = Next {
            layers: self.clone(),
            passed: 0,
            context,
            handler,
        };
        next.run().await
    }
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Layers").field(&self.0.len()).finish()
    }
}
