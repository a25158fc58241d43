//! Handlers of values, seen by the loop as handlers of bytes.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use queue_core::{Bytes, Consumer};

use super::{
    Context, Failure, IntoVerdict, Verdict,
    guard::{Broken, guarded, guarded_call},
};

/// How the handling of one message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Said(Verdict),
    /// The body does not decode.
    Undecodable(String),
    Broken(Broken),
}

#[cfg(any(feature = "tracing", feature = "metrics"))]
impl Ending {
    /// As labels and fields show it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Said(Verdict::Done) => "done",
            Self::Said(Verdict::Failed(_)) => "failed",
            Self::Undecodable(_) => "undecodable",
            Self::Broken(Broken::Panicked(_)) => "panicked",
            Self::Broken(Broken::TimedOut(_)) => "timed_out",
        }
    }
}

pub(crate) type Handling = Pin<Box<dyn Future<Output = Vec<Ending>> + Send>>;

/// Handles the messages of one job, and answers for each of them.
pub(crate) trait Handle: Send + Sync + 'static {
    /// Decodes and handles, both in the future that this answers: in the job's own task.
    fn handle(self: Arc<Self>, jobs: Vec<(Bytes, Context)>, limit: Option<Duration>) -> Handling;
}

/// A handler of one value at a time.
pub(crate) struct Single<T, H> {
    pub(crate) consumer: Consumer<T>,
    pub(crate) handler: H,
}

impl<T, H, F> Handle for Single<T, H>
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
                    Ok(verdict) => Ending::Said(verdict),
                    Err(broken) => Ending::Broken(broken),
                });
            }
            endings
        })
    }
}

/// The value, or how its handling ends already.
pub(crate) fn decode<T: 'static>(consumer: &Consumer<T>, body: &Bytes) -> Result<T, Ending> {
    match guarded_call(|| consumer.decode(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(Ending::Undecodable(error.to_string())),
        Err(panic) => Err(Ending::Broken(Broken::Panicked(panic))),
    }
}

impl Broken {
    /// As the failure of an attempt.
    pub(crate) fn failure(&self) -> Failure {
        match self {
            Self::Panicked(message) => {
                Failure::new(format_args!("the handler panicked: {message}"))
            }
            Self::TimedOut(limit) => Failure::new(format_args!("not done within {limit:?}")),
        }
    }
}
