//! Makes one call of what many callers want at the same time.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use async_trait::async_trait;
use queue_core::{Error, ErrorKind, Outcome, Result, Running, Spawn, limits};
use tokio::sync::{Notify, oneshot};

/// A batch of more entries or bytes than this is sent by itself: it gains nothing from company.
const SMALL: usize = 16;
const SMALL_BYTES: usize = 64 * 1024;

/// A verb over a batch that gives each entry an answer of its own, so that the entries of several
/// callers can be sent as one batch.
#[async_trait]
pub(crate) trait Verb: Send + Sync + 'static {
    type Entry: Clone + Send + Sync;
    type Answer: Send;

    /// Sends one batch, and answers each entry in order.
    async fn send(&self, entries: &[Self::Entry]) -> Result<Vec<Self::Answer>>;

    /// The bytes of an entry that count towards a batch's limit.
    fn size(entry: &Self::Entry) -> usize;
}

/// Sends at once while nobody else does, and together what comes meanwhile.
///
/// Who comes alone waits for nothing and pays for nothing. Who comes while a call is under way
/// waits for its end, and goes with all others who came meanwhile, as many as fit one batch; that
/// call is a background task's, so that a caller who is dropped takes nobody else's answer along.
/// Dropped before it was sent, an entry is never sent. A call that fails, fails for all in it.
pub(crate) struct Coalescer<V: Verb> {
    shared: Arc<Shared<V>>,
    spawn: Arc<dyn Spawn>,
    running: OnceLock<Running>,
}

struct Shared<V: Verb> {
    verb: V,
    state: Mutex<State<V>>,
    work: Notify,
}

struct State<V: Verb> {
    /// A call is under way, or the task is about to make one.
    busy: bool,
    /// The task has ended, with its runtime or by a panic: everybody sends by themselves.
    ended: bool,
    waiting: VecDeque<Waiting<V>>,
}

struct Waiting<V: Verb> {
    entries: Vec<V::Entry>,
    bytes: usize,
    answer: oneshot::Sender<Result<Vec<V::Answer>>>,
}

impl<V: Verb> Coalescer<V> {
    pub(crate) fn new(verb: V, spawn: Arc<dyn Spawn>) -> Self {
        Self {
            shared: Arc::new(Shared {
                verb,
                state: Mutex::new(State {
                    busy: false,
                    ended: false,
                    waiting: VecDeque::new(),
                }),
                work: Notify::new(),
            }),
            spawn,
            running: OnceLock::new(),
        }
    }

    /// Sends a batch, perhaps with others, and answers its entries in order.
    pub(crate) async fn send(&self, entries: &[V::Entry]) -> Result<Vec<V::Answer>> {
        let bytes = entries.iter().map(V::size).sum();
        if entries.len() > SMALL || bytes > SMALL_BYTES {
            return self.shared.verb.send(entries).await;
        }
        match self.shared.join(entries, bytes) {
            Join::Alone => self.shared.verb.send(entries).await,
            Join::First(_turn) => self.shared.verb.send(entries).await,
            Join::Later(answer) => {
                self.start();
                // No answer only if the task was stopped in the middle.
                answer.await.unwrap_or_else(|_| Err(stopped()))
            }
        }
    }

    fn start(&self) {
        self.running.get_or_init(|| {
            let shared = Arc::clone(&self.shared);
            self.spawn.spawn(Box::pin(async move {
                let task = End(shared);
                loop {
                    task.0.work.notified().await;
                    task.0.send_all().await;
                }
            }))
        });
    }
}

enum Join<'a, V: Verb> {
    First(Turn<'a, V>),
    Later(oneshot::Receiver<Result<Vec<V::Answer>>>),
    Alone,
}

impl<V: Verb> Shared<V> {
    fn join(&self, entries: &[V::Entry], bytes: usize) -> Join<'_, V> {
        let mut state = self.lock();
        if state.ended {
            return Join::Alone;
        }
        if !state.busy {
            state.busy = true;
            return Join::First(Turn(self));
        }
        let (answer, receiver) = oneshot::channel();
        state.waiting.push_back(Waiting {
            entries: entries.to_vec(),
            bytes,
            answer,
        });
        Join::Later(receiver)
    }

    async fn send_all(&self) {
        loop {
            let batch = match self.next_batch() {
                Some(batch) => batch,
                None => {
                    // Those who were just answered may be about to come again: together, if they
                    // are let run first.
                    tokio::task::yield_now().await;
                    match self.next_batch_or_rest() {
                        Some(batch) => batch,
                        None => return,
                    }
                }
            };
            let mut entries = Vec::new();
            let mut callers = Vec::with_capacity(batch.len());
            for waiting in batch {
                callers.push((waiting.entries.len(), waiting.answer));
                entries.extend(waiting.entries);
            }
            deal(self.verb.send(&entries).await, callers);
        }
    }

    fn next_batch(&self) -> Option<Vec<Waiting<V>>> {
        self.lock().next_batch()
    }

    fn next_batch_or_rest(&self) -> Option<Vec<Waiting<V>>> {
        let mut state = self.lock();
        let batch = state.next_batch();
        state.busy = batch.is_some();
        batch
    }

    fn lock(&self) -> MutexGuard<'_, State<V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V: Verb> State<V> {
    /// As many of those who wait, in order, as fit one batch; nobody who is gone.
    fn next_batch(&mut self) -> Option<Vec<Waiting<V>>> {
        let (mut count, mut bytes) = (0, 0);
        let mut batch = Vec::new();
        while let Some(next) = self.waiting.front() {
            count += next.entries.len();
            bytes += next.bytes;
            if count > limits::MAX_BATCH || bytes > limits::MAX_BATCH_BYTES {
                break;
            }
            if let Some(next) = self.waiting.pop_front() {
                if next.answer.is_closed() {
                    count -= next.entries.len();
                    bytes -= next.bytes;
                } else {
                    batch.push(next);
                }
            }
        }
        (!batch.is_empty()).then_some(batch)
    }
}

/// Gives each caller its share of the answers, or the error.
fn deal<A>(answers: Result<Vec<A>>, callers: Vec<(usize, oneshot::Sender<Result<Vec<A>>>)>) {
    match answers {
        Ok(answers) => {
            let mut answers = answers.into_iter();
            for (count, caller) in callers {
                // A caller that is gone does not want its answer.
                let _ = caller.send(Ok(answers.by_ref().take(count).collect()));
            }
        }
        Err(error) => {
            for (_, caller) in callers {
                let _ = caller.send(Err(error.clone()));
            }
        }
    }
}

/// The call under way of one who came alone; at its end, or when it is dropped, the others go.
struct Turn<'a, V: Verb>(&'a Shared<V>);

impl<V: Verb> Drop for Turn<'_, V> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if state.waiting.is_empty() {
            state.busy = false;
        } else {
            drop(state);
            self.0.work.notify_one();
        }
    }
}

/// The task's end: whoever still waits is told.
struct End<V: Verb>(Arc<Shared<V>>);

impl<V: Verb> Drop for End<V> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        state.waiting.clear();
    }
}

fn stopped() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "the task that sends for several callers was stopped",
    )
    .with_outcome(Outcome::Unknown)
}

impl<V: Verb> fmt::Debug for Coalescer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalescer").finish_non_exhaustive()
    }
}
