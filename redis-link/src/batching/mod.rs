//! Sends the requests of many callers in one call.

mod backlog;
mod shared;
mod task;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    fmt,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{Error, ErrorKind, Outcome, Result, Running, Spawn, TokioSpawn, caller_deadline};
use tokio::time::{self, Instant};

use self::{
    shared::{BatcherState, Join, QueuedCall},
    task::Task,
};

/// A batch of more entries or bytes than this is sent alone, because batching gains it nothing.
pub const SMALL: usize = 16;
const SMALL_BYTES: usize = 64 * 1024;

/// The room of the backlog, in full batches: a few. A slow server then slows its callers down, while the backlog stays
/// short enough for callers to be served in time.
const ROOM: usize = 4;

/// The largest batch.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimit {
    /// The number of its entries.
    pub entries: usize,
    /// The bytes of its entries, as [`SendBatch::size`] counts them.
    pub bytes: usize,
}

/// Whether the error of a call for several callers may be of one caller's entries alone, so that the call may be
/// repeated for each caller: it is permanent, and nothing took effect.
pub fn is_for_one_caller(error: &Error) -> bool {
    !error.is_transient() && error.outcome() == Outcome::NotApplied
}

/// An operation on a batch with a separate reply for each entry, so that one batch can carry the entries of several
/// callers.
#[async_trait]
pub trait SendBatch: Send + Sync + 'static {
    /// One caller's request for one entry.
    type Request: Clone + Send + Sync;
    /// The reply to the request.
    type Reply: Clone + Send + Sync;

    /// The limit of a batch of several callers.
    const MOST: BatchLimit;

    /// Sends one batch, and returns the replies in the order of the entries.
    async fn send_batch(&self, entries: &[Self::Request]) -> Result<Vec<Self::Reply>>;

    /// The bytes of an entry that count towards a batch's limit.
    fn size(entry: &Self::Request) -> usize;

    /// Undoes the effects of these replies as far as possible: their caller was gone when they came.
    async fn give_back(&self, _answers: Vec<Self::Reply>) {}

    /// Waits until a call can expect a reply. An error means that there will never be one.
    async fn ready(&self) -> Result<()>;

    /// The time until which something may delay the call in progress, or did; patience counts from then.
    fn held_up(&self) -> Option<Instant> {
        None
    }

    /// The error for a caller whose entries could not be sent in time.
    fn unsent(&self) -> Error;
}

/// Sends a lone caller's entries at once, and combines the entries of callers that arrive meanwhile.
///
/// A lone caller waits for nothing and pays nothing for batching. A caller that arrives during a call waits for its
/// end. It is then sent with the other callers that arrived meanwhile, as many as fit one batch. Before that call,
/// callers that just got their replies may arrive again, if their runtime lets them run. A background task makes that
/// call, and also polls the call that it waits for, so no caller depends on another caller's future. An entry that is
/// dropped before it is sent is never sent, and neither are the entries of a caller whose patience ends before. Replies
/// for a caller that is gone are given back.
///
/// If a call fails, it fails for all its callers, unless the error may be of one caller's entries alone: then each
/// caller's entries are sent in a call of their own.
///
/// The backlog is bounded in bytes: a caller that finds it full waits for room, with the same patience.
pub struct Batcher<V: SendBatch> {
    shared: Arc<BatcherState<V>>,
    patience: Duration,
    spawn: Arc<dyn Spawn>,
    running: OnceLock<Running>,
}

impl<V: SendBatch> Batcher<V> {
    /// `patience` is how long a caller waits to be sent.
    pub fn new(sender: V, patience: Duration, spawn: Arc<dyn Spawn>) -> Self {
        Self {
            shared: Arc::new(BatcherState::new(sender, ROOM * V::MOST.bytes)),
            patience,
            spawn,
            running: OnceLock::new(),
        }
    }

    /// The sender, for a batch that is sent alone.
    pub fn sender(&self) -> &V {
        &self.shared.sender
    }

    /// Whether a call is in progress: a call of several callers, or a direct call that others may wait for.
    pub fn is_busy(&self) -> bool {
        self.shared.is_busy()
    }

    /// Sends a batch, perhaps combined with others, and returns the replies to its entries in order.
    pub async fn submit(&self, entries: impl Into<Cow<'_, [V::Request]>>) -> Result<Vec<V::Reply>> {
        let entries = entries.into();
        let bytes: usize = entries.iter().map(V::size).sum();
        if entries.len() > SMALL || bytes > SMALL_BYTES {
            return self.shared.sender.send_batch(&entries).await;
        }
        // Without a runtime, the timer of a caller that waits panics.
        TokioSpawn::current()?;
        let mut since = Instant::now();
        let mut entries = entries.into_owned();
        loop {
            // Created before the check, so no room that comes after the check is missed.
            let room = self.shared.room();
            entries = match self.shared.join(entries) {
                Join::Direct(first) => return first.await,
                Join::Queued(place) => {
                    self.start();
                    return self.wait(place, since).await;
                }
                Join::NoTask(entries) => return self.shared.sender.send_batch(&entries).await,
                Join::Full(entries) => entries,
            };
            if self.in_time(&mut since, room).await.is_none() {
                return Err(self.shared.sender.unsent());
            }
        }
    }

    /// Waits for this future until the patience of a caller that has waited since `since` is over, or until the caller is
    /// about to go.
    async fn in_time<T>(&self, since: &mut Instant, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        loop {
            let patience = *since + self.patience;
            let end = caller_deadline().map(Instant::from_std);
            let end = end.map_or(patience, |end| end.min(patience));
            if let Ok(answer) = time::timeout_at(end, &mut future).await {
                return Some(answer);
            }
            if end < patience {
                return None;
            }
            *since = self
                .shared
                .sender
                .held_up()
                .filter(|until| *until > *since)?;
        }
    }

    async fn wait(
        &self,
        mut place: QueuedCall<'_, V>,
        mut since: Instant,
    ) -> Result<Vec<V::Reply>> {
        let answer = match self.in_time(&mut since, place.answer()).await {
            Some(answer) => answer,
            None if place.leave() => Some(Err(self.shared.sender.unsent())),
            // The entries are being sent: only the sender knows how long that may take.
            None => place.answer().await,
        };
        answer.unwrap_or_else(|| {
            Err(Error::new(
                ErrorKind::Unavailable,
                "the task that sends for several callers was stopped in the middle of their call",
            )
            .with_outcome(Outcome::Unknown))
        })
    }

    fn start(&self) {
        self.running.get_or_init(|| {
            let task = Task::new(Arc::clone(&self.shared), self.patience);
            self.spawn.spawn(Box::pin(task.run()))
        });
    }
}

impl<V: SendBatch> fmt::Debug for Batcher<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher").finish_non_exhaustive()
    }
}
