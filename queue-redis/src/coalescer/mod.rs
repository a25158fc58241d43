//! Makes one call of what many callers want at the same time.

mod line;
mod task;
#[cfg(test)]
mod tests;
mod turn;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{Error, ErrorKind, Outcome, Result, Running, Spawn, limits};
use tokio::time::{self, Instant};

use self::{
    task::Task,
    turn::{Join, Place, Shared},
};

/// A batch of more entries or bytes than this is sent by itself: it gains nothing from company.
const SMALL: usize = 16;
const SMALL_BYTES: usize = 64 * 1024;

/// What may wait: as much as a few full batches. A slow server then slows those down who make
/// calls, instead of growing a line whose end nobody lives to see.
const LINE_BYTES: usize = 4 * limits::MAX_BATCH_BYTES;

/// A verb over a batch that gives each entry an answer of its own, so that the entries of several
/// callers can be sent as one batch.
#[async_trait]
pub(crate) trait Verb: Send + Sync + 'static {
    type Entry: Clone + Send + Sync;
    type Answer: Clone + Send + Sync;

    /// Sends one batch, and answers each entry in order.
    async fn send(&self, entries: &[Self::Entry]) -> Result<Vec<Self::Answer>>;

    /// The bytes of an entry that count towards a batch's limit.
    fn size(entry: &Self::Entry) -> usize;

    /// Waits until what is sent can be expected to be answered; an error means never again.
    async fn ready(&self) -> Result<()>;

    /// What a caller is told whose entries could not be sent in time.
    fn unsent(&self) -> Error;
}

/// Sends at once while nobody else does, and together what comes meanwhile.
///
/// Who comes alone waits for nothing and pays for nothing. Who comes while a call is under way
/// waits for its end, and goes with all others who came meanwhile, as many as fit one batch. That
/// call is a background task's, which also sees to the end of the call that it waits for: so
/// nobody waits for what another caller does with their future. Dropped before it was sent, an
/// entry is never sent; so are those of a caller whose patience ends before. A call that fails,
/// fails for all in it.
///
/// What waits is bounded in bytes: who finds no room waits for some, with the same patience.
pub(crate) struct Coalescer<V: Verb> {
    shared: Arc<Shared<V>>,
    patience: Duration,
    spawn: Arc<dyn Spawn>,
    running: OnceLock<Running>,
}

impl<V: Verb> Coalescer<V> {
    /// Callers wait to be sent for as long as `patience`.
    pub(crate) fn new(verb: V, patience: Duration, spawn: Arc<dyn Spawn>) -> Self {
        Self {
            shared: Arc::new(Shared::new(verb, LINE_BYTES)),
            patience,
            spawn,
            running: OnceLock::new(),
        }
    }

    /// Sends a batch, perhaps with others, and answers its entries in order.
    pub(crate) async fn send(&self, entries: &[V::Entry]) -> Result<Vec<V::Answer>> {
        let bytes: usize = entries.iter().map(V::size).sum();
        if entries.len() > SMALL || bytes > SMALL_BYTES {
            return self.shared.verb.send(entries).await;
        }
        let deadline = Instant::now() + self.patience;
        let mut entries = entries.to_vec();
        loop {
            // Made before the look, it misses no room that is made after it.
            let room = self.shared.room();
            entries = match self.shared.join(entries) {
                Join::First(first) => return first.await,
                Join::Later(place) => {
                    self.start();
                    return self.wait(place, deadline).await;
                }
                Join::Alone(entries) => return self.shared.verb.send(&entries).await,
                Join::Full(entries) => entries,
            };
            if time::timeout_at(deadline, room).await.is_err() {
                return Err(self.shared.verb.unsent());
            }
        }
    }

    async fn wait(&self, mut place: Place<'_, V>, deadline: Instant) -> Result<Vec<V::Answer>> {
        let answer = match time::timeout_at(deadline, place.answer()).await {
            Ok(answer) => answer,
            Err(_) if place.leave() => Some(Err(self.shared.verb.unsent())),
            // It is on its way: how long that may take is the verb's to know.
            Err(_) => place.answer().await,
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

impl<V: Verb> fmt::Debug for Coalescer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalescer").finish_non_exhaustive()
    }
}
