//! Handlers of values, as the loop sees them: handlers of bytes.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use queue_core::{Bytes, Consumer, with_sources};

use super::{
    Context, IntoVerdict,
    guard::{AbnormalEnd, guarded, guarded_call},
    handler_result::HandlerResult,
};

pub(crate) type Handling = Pin<Box<dyn Future<Output = Vec<HandlerResult>> + Send>>;

/// Handles the messages of one job, and returns one result for each.
pub(crate) trait JobHandler: Send + Sync + 'static {
    /// Decodes and handles, both in the returned future and so in the job's own task.
    fn handle(self: Arc<Self>, jobs: Vec<(Bytes, Context)>, limit: Option<Duration>) -> Handling;
}

/// A handler of one value at a time.
pub(crate) struct Single<T, H> {
    pub(crate) consumer: Consumer<T>,
    pub(crate) handler: H,
}

impl<T, H, F> JobHandler for Single<T, H>
where
    T: Send + 'static,
    H: Fn(T, Context) -> F + Send + Sync + 'static,
    F: Future<Output: IntoVerdict> + Send + 'static,
{
    fn handle(self: Arc<Self>, jobs: Vec<(Bytes, Context)>, limit: Option<Duration>) -> Handling {
        Box::pin(async move {
            let mut endings = Vec::with_capacity(jobs.len());
            for (body, context) in jobs {
                let value = match decode(&self.consumer, &body) {
                    Ok(value) => value,
                    Err(ending) => {
                        endings.push(ending);
                        continue;
                    }
                };
                let work = async { (self.handler)(value, context).await.into_verdict() };
                endings.push(match guarded(limit, work).await {
                    Ok(verdict) => HandlerResult::Returned(verdict),
                    Err(abnormal) => HandlerResult::Abnormal(abnormal),
                });
            }
            endings
        })
    }
}

/// The value, or the result of a message that does not decode.
pub(crate) fn decode<T: 'static>(consumer: &Consumer<T>, body: &Bytes) -> Result<T, HandlerResult> {
    let decode = || consumer.decode(body).map_err(|error| with_sources(&error));
    match guarded_call(decode) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(reason)) => Err(HandlerResult::Undecodable(reason)),
        Err(panic) => Err(HandlerResult::Abnormal(AbnormalEnd::Panicked(panic))),
    }
}
