//! One look at the children of a job: which have ended.

use std::{future::poll_fn, pin::Pin, task::Poll};

use queue_core::{ChildrenRecord, Found, JobResult, Leasing, MessageId, Result, limits};

/// Finds that are under way at once, after the first one.
const AT_ONCE: usize = 8;

/// The most dead children that a look names.
const MOST_NAMED: usize = 100;

/// A child that is among the dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedChild {
    /// Its id.
    pub id: MessageId,
    /// Why it died.
    pub reason: String,
}

/// The findings of one look.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// The first child that has not ended.
    pub(crate) waits_for: Option<MessageId>,
    /// How many dead children it saw, and the first of them.
    pub(crate) dead: u64,
    pub(crate) failed: Vec<FailedChild>,
}

/// Looks at the children that are not known to have ended, in the order of the push, and notes in `record` which are done
/// or gone. Without `all` it stops soon after the first child that has not ended.
pub(crate) async fn look(
    queue: &dyn Leasing,
    record: &mut ChildrenRecord,
    all: bool,
) -> Result<Look> {
    let mut seen = Look::default();
    let open: Vec<(u64, MessageId)> = record.open().collect();
    let mut chunks = open.chunks(limits::MAX_BATCH);
    let mut at_once = 1;
    loop {
        let window: Vec<&[(u64, MessageId)]> = chunks.by_ref().take(at_once).collect();
        if window.is_empty() || (seen.waits_for.is_some() && !all) {
            break;
        }
        at_once = AT_ONCE;
        for (chunk, found) in window.iter().zip(found(queue, &window).await?) {
            for ((place, id), found) in chunk.iter().zip(found) {
                seen.note(record, *place, *id, found)?;
            }
        }
    }
    record.dead = seen.dead;
    Ok(seen)
}

impl Look {
    fn note(
        &mut self,
        record: &mut ChildrenRecord,
        place: u64,
        id: MessageId,
        found: Found,
    ) -> Result<()> {
        if let Found::Done(_) = found {
            record.end(place);
            record.done += 1;
            return Ok(());
        }
        match JobResult::<()>::of(found)? {
            JobResult::Pending => {
                self.waits_for.get_or_insert(id);
            }
            JobResult::Failed(reason) => {
                let ends = true;
                planted!(JoinForgetsTheDead => ends = false);
                if !ends {
                    self.waits_for.get_or_insert(id);
                }
                self.dead += 1;
                if self.failed.len() < MOST_NAMED {
                    self.failed.push(FailedChild { id, reason });
                }
            }
            JobResult::Done(()) | JobResult::Gone => record.end(place),
        }
        Ok(())
    }
}

/// Finds these messages, by several calls at once.
async fn found(queue: &dyn Leasing, chunks: &[&[(u64, MessageId)]]) -> Result<Vec<Vec<Found>>> {
    let calls = chunks.iter().map(|chunk| {
        let ids: Vec<MessageId> = chunk.iter().map(|(_, id)| *id).collect();
        async move { queue.find(&ids).await }
    });
    at_once(calls).await.into_iter().collect()
}

/// Runs futures at the same time, in this task, and returns their outputs in order.
async fn at_once<F: Future<Output: Send> + Send>(calls: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut calls: Vec<Pin<Box<F>>> = calls.map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = calls.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut is_pending = false;
        for (call, output) in calls.iter_mut().zip(&mut outputs) {
            if output.is_some() {
                continue;
            }
            match call.as_mut().poll(cx) {
                Poll::Ready(done) => *output = Some(done),
                Poll::Pending => is_pending = true,
            }
        }
        if is_pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// The results of these children, in their order.
pub(crate) async fn results<R: serde::de::DeserializeOwned>(
    queue: &dyn Leasing,
    ids: &[MessageId],
) -> Result<Vec<JobResult<R>>> {
    let mut results = Vec::with_capacity(ids.len());
    for window in ids.chunks(limits::MAX_BATCH * AT_ONCE) {
        let calls = window
            .chunks(limits::MAX_BATCH)
            .map(|chunk| queue.find(chunk));
        for found in at_once(calls).await {
            for found in found? {
                results.push(JobResult::of(found)?);
            }
        }
    }
    Ok(results)
}
