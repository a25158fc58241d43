//! Handlers whose failures the history view shows; without this, it only shows that the worker tries again.

use std::{future::Future, panic, pin::Pin, sync::Arc};

use queue_worker::{Context, IntoVerdict, Verdict};

use super::{actors::Actor, panics::guarded};

type Handling = Pin<Box<dyn Future<Output = Verdict> + Send>>;

/// Wraps the handler: this actor writes down its failures and panics.
pub(super) fn recorded<T, H, F>(handler: H, actor: Actor) -> impl Fn(T, Context) -> Handling
where
    T: Send + 'static,
    H: Fn(T, Context) -> F + Send + Sync + 'static,
    F: Future<Output: IntoVerdict> + Send + 'static,
{
    let handler = Arc::new(handler);
    move |value, cx| {
        let (handler, actor) = (Arc::clone(&handler), actor.clone());
        Box::pin(async move {
            let handling = guarded(move || {
                let handling = handler(value, cx);
                Box::pin(async move { handling.await.into_verdict() })
            });
            match handling.await {
                Ok(verdict) => {
                    if let Verdict::Failed(failure) = &verdict {
                        actor.failed(&format!("fails: {}", failure.reason()));
                    }
                    verdict
                }
                Err(panic) => {
                    actor.failed(&format!("panics: {panic}"));
                    // The worker sees the panic as in production.
                    panic::resume_unwind(Box::new(panic))
                }
            }
        })
    }
}
