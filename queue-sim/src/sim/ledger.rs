use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use queue_core::{Timestamp, Token};

use super::actors::Actor;
use crate::plan::Process;

/// A system outside of the queue on which handlers have effects: a payment provider, a mail server,
/// a table. It belongs to one run. Its effects survive a worker's crash.
///
/// Before and after each effect, the simulator may crash the worker, stall it, or let others go
/// first. Real programs die at these points, and ordinary tests never try them.
#[derive(Debug, Clone)]
pub struct Ledger {
    name: Arc<str>,
    actor: Actor,
    books: Books,
}

/// One effect that happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Effect {
    /// Its place in the order of all events of the run.
    pub order: u64,
    /// The time of the effect.
    pub at: Timestamp,
    /// The process that had the effect.
    pub process: Process,
    /// The ledger.
    pub ledger: Arc<str>,
    /// The key that the handler named: an order's number, a customer.
    pub key: String,
}

/// A ledger refused an effect: it has seen a newer holder of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stale {
    /// The token that the late holder showed.
    pub shown: Token,
    /// The newest token that the ledger has seen for this key.
    pub newest: Token,
}

impl Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown, newest } = self;
        write!(
            f,
            "token {shown} is older than {newest}, which was here before"
        )
    }
}

impl std::error::Error for Stale {}

/// The ledgers of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Books(Arc<Mutex<LedgerState>>);

#[derive(Debug, Default)]
struct LedgerState {
    effects: Vec<Effect>,
    opened: BTreeMap<Arc<str>, BTreeSet<Process>>,
    newest: BTreeMap<(Arc<str>, String), Token>,
    shared: BTreeMap<String, Shared>,
}

/// A value that the processes of a run share.
struct Shared(Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Books {
    pub(super) fn ledger(&self, name: &str, actor: Actor) -> Ledger {
        let name: Arc<str> = name.into();
        let mut state = self.lock();
        let opened = state.opened.entry(Arc::clone(&name)).or_default();
        opened.insert(actor.process());
        drop(state);
        Ledger {
            name,
            actor,
            books: self.clone(),
        }
    }

    pub(super) fn shared<T: Send + Sync + 'static>(
        &self,
        name: &str,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let mut state = self.lock();
        let shared = state.shared.entry(name.to_owned());
        let shared = shared.or_insert_with(|| Shared(Arc::new(make())));
        let shared = Arc::clone(&shared.0).downcast();
        shared.unwrap_or_else(|_| {
            panic!("the run has something of another type by the name {name:?}")
        })
    }

    pub(super) fn effects(&self) -> Vec<Effect> {
        self.lock().effects.clone()
    }

    pub(super) fn opened(&self) -> BTreeMap<Arc<str>, BTreeSet<Process>> {
        self.lock().opened.clone()
    }

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Has the effect, even if it happened before: a charge without an idempotency key.
    pub async fn apply(&self, key: impl Display + Send) {
        let key = key.to_string();
        self.actor.interruptible().await;
        self.book(key);
        self.actor.interruptible().await;
    }

    /// Has the effect, as a part of the caller's own step: the commit of a database in memory.
    pub fn apply_now(&self, key: impl Display) {
        self.book(key.to_string());
    }

    /// Has the effect unless it happened before under this key. Returns true if the effect happened now. This is a sink
    /// that deduplicates by a business key: an insert with a unique constraint.
    pub async fn apply_once(&self, key: impl Display + Send) -> bool {
        let key = key.to_string();
        self.actor.interruptible().await;
        let fresh = !self.has(&key);
        if fresh {
            self.book(key);
        } else {
            self.actor.spares(&self.name, &key, "already done");
        }
        self.actor.interruptible().await;
        fresh
    }

    /// Has the effect unless the ledger has seen a newer token for this key. This is a sink that fences: it refuses a
    /// late holder, but not a holder that comes twice.
    ///
    /// # Errors
    ///
    /// [`Stale`]; the effect did not happen.
    pub async fn apply_fenced(&self, key: impl Display + Send, token: Token) -> Result<(), Stale> {
        let key = key.to_string();
        self.actor.interruptible().await;
        let newest = {
            let mut state = self.books.lock();
            let seen = state.newest.entry((Arc::clone(&self.name), key.clone()));
            let newest = seen.or_insert(token);
            *newest = (*newest).max(token);
            *newest
        };
        if token < newest {
            self.actor
                .spares(&self.name, &key, "refused, the token is stale");
            return Err(Stale {
                shown: token,
                newest,
            });
        }
        self.book(key);
        self.actor.interruptible().await;
        Ok(())
    }

    /// Whether an effect happened under this key.
    pub fn has(&self, key: impl Display) -> bool {
        let key = key.to_string();
        let state = self.books.lock();
        let mut effects = state.effects.iter();
        effects.any(|effect| effect.ledger == self.name && effect.key == key)
    }

    fn book(&self, key: String) {
        let (order, at) = self.actor.effect(&self.name, &key);
        self.books.lock().effects.push(Effect {
            order,
            at,
            process: self.actor.process(),
            ledger: Arc::clone(&self.name),
            key,
        });
    }
}
