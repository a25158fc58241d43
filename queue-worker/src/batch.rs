//! Handlers of many messages at once.

use std::{future::Future, sync::Arc};

use queue_core::{Bytes, Result};

use super::{
    Context, Failure, IntoVerdict, Verdict,
    guard::guarded,
    handler::{Handling, JobHandler, Terms, decode},
    handler_result::HandlerResult,
};

/// The return types of batch handlers: one verdict for all messages, or one for each, in their
/// order.
///
/// A `Result` is for all messages; a `Vec` has an entry for each, and messages beyond its end count as
/// failed.
pub trait IntoVerdicts {
    /// A verdict for each of `count` messages.
    fn into_verdicts(self, count: usize) -> Vec<Verdict>;
}

impl IntoVerdicts for () {
    fn into_verdicts(self, count: usize) -> Vec<Verdict> {
        vec![Verdict::Done; count]
    }
}

impl<V: IntoVerdict> IntoVerdicts for Vec<V> {
    fn into_verdicts(self, count: usize) -> Vec<Verdict> {
        fit(self.into_iter().map(V::into_verdict).collect(), count)
    }
}

impl<T: IntoVerdicts, E: Into<Failure>> IntoVerdicts for Result<T, E> {
    fn into_verdicts(self, count: usize) -> Vec<Verdict> {
        match self {
            Ok(verdicts) => verdicts.into_verdicts(count),
            Err(error) => vec![Verdict::Failed(error.into()); count],
        }
    }
}

/// Pads or cuts the verdicts to the number of messages.
fn fit(mut verdicts: Vec<Verdict>, count: usize) -> Vec<Verdict> {
    let missing = || Verdict::Failed(Failure::new("the handler returned too few verdicts"));
    verdicts.resize_with(count, missing);
    verdicts
}

pub(crate) struct Batch<D, H> {
    pub(crate) decode: D,
    pub(crate) handler: H,
}

impl<T, D, H, F> JobHandler for Batch<D, H>
where
    T: Send + 'static,
    D: Fn(&Bytes) -> Result<T> + Send + Sync + 'static,
    H: Fn(Vec<(T, Context)>) -> F + Send + Sync + 'static,
    F: Future<Output: IntoVerdicts> + Send + 'static,
{
    fn takes_layers(&self) -> bool {
        false
    }

    fn handle(self: Arc<Self>, jobs: Vec<(Bytes, Context)>, terms: Terms) -> Handling {
        Box::pin(async move {
            let mut endings = vec![None; jobs.len()];
            let mut values = Vec::with_capacity(jobs.len());
            for (ending, (body, context)) in endings.iter_mut().zip(jobs) {
                match decode(&self.decode, &body) {
                    Ok(value) => values.push((value, context)),
                    Err(bad) => *ending = Some(bad),
                }
            }
            let count = values.len();
            let said: Vec<HandlerResult> = if count == 0 {
                Vec::new()
            } else {
                let work = async { fit((self.handler)(values).await.into_verdicts(count), count) };
                match guarded(terms.limit, work).await {
                    Ok(verdicts) => verdicts.into_iter().map(HandlerResult::Returned).collect(),
                    Err(abnormal) => vec![HandlerResult::Abnormal(abnormal); count],
                }
            };
            let mut said = said.into_iter();
            let ending = |bad: Option<HandlerResult>| bad.or_else(|| said.next());
            // `said` has as many entries as there are gaps, so no message is left out.
            endings.into_iter().filter_map(ending).collect()
        })
    }
}
