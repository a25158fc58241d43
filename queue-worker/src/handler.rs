//! Handlers of values, as the loop sees them: handlers of bytes.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use queue_core::{Bytes, Headers, Result, with_sources};

use super::{
    Context, IntoVerdict,
    guard::{AbnormalEnd, guarded, guarded_call},
    handler_result::HandlerResult,
    job_type::JobType,
    layer::Layers,
};

pub(crate) type Handling = Pin<Box<dyn Future<Output = Vec<HandlerResult>> + Send>>;

/// The terms of one handling.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// The time after which the handler is cut off.
    pub(crate) limit: Option<Duration>,
    pub(crate) layers: Layers,
}

/// Handles the messages of one job, and returns one result for each.
pub(crate) trait JobHandler: Send + Sync + 'static {
    /// Decodes and handles, both in the returned future and so in the job's own task.
    fn handle(self: Arc<Self>, jobs: Vec<(Bytes, Context)>, terms: Terms) -> Handling;

    /// Whether it runs inside of the worker's layers.
    fn takes_layers(&self) -> bool {
        true
    }

    /// The type of the job with these headers, if this handler tells types apart.
    fn job_type(&self, _headers: &Headers) -> Option<&Arc<JobType>> {
        None
    }

    /// The types that this handler tells apart, and the first fault in them.
    fn job_types(&self) -> Result<Vec<&JobType>> {
        Ok(Vec::new())
    }
}

/// A handler of one value at a time.
pub(crate) struct Single<D, H> {
    pub(crate) decode: D,
    pub(crate) handler: H,
}

impl<T, D, H, F> Single<D, H>
where
    T: Send + 'static,
    D: Fn(&Bytes) -> Result<T> + Send + Sync + 'static,
    H: Fn(T, Context) -> F + Send + Sync + 'static,
    F: Future<Output: IntoVerdict> + Send + 'static,
{
    pub(crate) async fn handle_one(
        self: &Arc<Self>,
        body: &Bytes,
        context: Context,
        terms: &Terms,
    ) -> HandlerResult {
        let value = match decode(&self.decode, body) {
            Ok(value) => value,
            Err(undecodable) => return undecodable,
        };
        let work = async {
            if terms.layers.is_empty() {
                return (self.handler)(value, context).await.into_verdict();
            }
            let (this, inner) = (Arc::clone(self), context.clone());
            let handler = async move { (this.handler)(value, inner).await.into_verdict() };
            terms.layers.run(context, Box::pin(handler)).await
        };
        match guarded(terms.limit, work).await {
            Ok(verdict) => HandlerResult::Returned(verdict),
            Err(abnormal) => HandlerResult::Abnormal(abnormal),
        }
    }
}

impl<T, D, H, F> JobHandler for Single<D, H>
where
    T: Send + 'static,
    D: Fn(&Bytes) -> Result<T> + Send + Sync + 'static,
    H: Fn(T, Context) -> F + Send + Sync + 'static,
    F: Future<Output: IntoVerdict> + Send + 'static,
{
    fn handle(self: Arc<Self>, jobs: Vec<(Bytes, Context)>, terms: Terms) -> Handling {
        Box::pin(async move {
            let mut endings = Vec::with_capacity(jobs.len());
            for (body, context) in jobs {
                endings.push(self.handle_one(&body, context, &terms).await);
            }
            endings
        })
    }
}

/// The value, or the result of a message that does not decode.
pub(crate) fn decode<T>(
    decode: &impl Fn(&Bytes) -> Result<T>,
    body: &Bytes,
) -> Result<T, HandlerResult> {
    match guarded_call(|| decode(body).map_err(|error| with_sources(&error))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(reason)) => Err(HandlerResult::Undecodable(reason)),
        Err(panic) => Err(HandlerResult::Abnormal(AbnormalEnd::Panicked(panic))),
    }
}
