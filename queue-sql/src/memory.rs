//! A database in memory, with transactions, for tests and simulations.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{Bytes, Error, ErrorKind, Result};
use tokio::{
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    time::Instant,
};

use crate::{Inserting, Listener, NewRow, OutboxRow, Seen, Store, Taken, Transaction, Wish};

type Step = Arc<dyn Fn(&'static str) -> Stepping + Send + Sync>;
type Stepping = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// A database in memory, which isolates transactions as Postgres does with *read committed*. It keeps the tables of this
/// crate, and its users' own effects as closures that run when a transaction commits.
///
/// Clones are connections to the same database. A connection calls its [steps](Self::with_steps) before and after
/// whatever it does: there a simulation can end the process, let others go first, or lose the reply.
///
/// It needs tokio's clock, which may be paused.
#[derive(Clone)]
pub struct MemoryDatabase {
    shared: Arc<Shared>,
    step: Option<Step>,
    #[cfg(feature = "planted")]
    notifies_early: bool,
}

struct Shared {
    state: Mutex<State>,
    /// Transactions end.
    ended: Notify,
    start: Instant,
}

#[derive(Default)]
struct State {
    last_transaction: u64,
    last_id: i64,
    running: BTreeSet<u64>,
    rows: BTreeMap<i64, Row>,
    locked: BTreeSet<i64>,
    /// Keys, and the time of their commit; `None` while the transaction is open.
    marks: BTreeMap<(String, Bytes), Option<Instant>>,
    listeners: Vec<UnboundedSender<String>>,
}

struct Row {
    transaction: u64,
    created: Instant,
    new: NewRow,
    refused: Option<String>,
}

impl Default for MemoryDatabase {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryDatabase {
    /// An empty database, with the tables of this crate.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                ended: Notify::new(),
                start: Instant::now(),
            }),
            step: None,
            #[cfg(feature = "planted")]
            notifies_early: false,
        }
    }

    /// A connection that calls `step` with a name, such as `before commit` or `after commit`, around whatever it does.
    /// An error before a step is the error of a call that did nothing; after it, of a call whose reply is lost. A future
    /// that never ends is the end of a process: drop the process's futures, and its open transactions roll back.
    #[must_use]
    pub fn with_steps<F>(mut self, step: impl Fn(&'static str) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        self.step = Some(Arc::new(move |name| Box::pin(step(name))));
        self
    }

    /// Begins a transaction. Dropped, it rolls back.
    pub fn begin(&self) -> MemoryTransaction {
        MemoryTransaction {
            database: self.clone(),
            number: None,
            rows: Vec::new(),
            marks: Vec::new(),
            effects: Vec::new(),
            notifies: false,
        }
    }

    /// The rows that wait for a relay, without those of open transactions.
    pub fn waiting(&self) -> usize {
        let state = self.lock();
        let waiting = state.rows.values().filter(|row| row.refused.is_none());
        waiting.count()
    }

    /// The rows that are kept apart, by id, and the reasons.
    pub fn refused(&self) -> BTreeMap<i64, String> {
        let state = self.lock();
        let rows = state.rows.iter();
        rows.filter_map(|(id, row)| Some((*id, row.refused.clone()?)))
            .collect()
    }

    /// Notifies at the INSERT, and not at the commit.
    #[cfg(feature = "planted")]
    #[must_use]
    pub const fn notifying_early(mut self) -> Self {
        self.notifies_early = true;
        self
    }

    async fn step(&self, name: &'static str) -> Result<()> {
        match &self.step {
            Some(step) => step(name).await,
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDatabase")
            .field("waiting", &self.waiting())
            .finish_non_exhaustive()
    }
}

impl State {
    fn wake(&mut self, text: &str) {
        self.listeners
            .retain(|listener| listener.send(text.to_owned()).is_ok());
    }
}

/// A transaction of a [`MemoryDatabase`].
pub struct MemoryTransaction {
    database: MemoryDatabase,
    /// As in Postgres, it has none before it writes.
    number: Option<u64>,
    rows: Vec<(i64, Row)>,
    marks: Vec<(String, Bytes)>,
    effects: Vec<Box<dyn FnOnce() + Send>>,
    notifies: bool,
}

impl MemoryTransaction {
    /// Has an effect when the transaction commits, and none if it does not.
    pub fn at_commit(&mut self, effect: impl FnOnce() + Send + 'static) {
        self.effects.push(Box::new(effect));
    }

    /// Commits.
    ///
    /// # Errors
    ///
    /// The errors of the connection's steps. After an error of `after commit`, the transaction has committed.
    pub async fn commit(mut self) -> Result<()> {
        let database = self.database.clone();
        database.step("before commit").await?;
        {
            let mut state = database.lock();
            state.rows.extend(self.rows.drain(..));
            let now = Instant::now();
            for mark in self.marks.drain(..) {
                state.marks.insert(mark, Some(now));
            }
            for effect in self.effects.drain(..) {
                effect();
            }
            if self.notifies {
                state.wake("");
            }
        }
        drop(self);
        database.step("after commit").await
    }

    fn number(&mut self) -> u64 {
        let number = &mut self.number;
        let mut state = self.database.lock();
        *number.get_or_insert_with(|| {
            state.last_transaction += 1;
            let new = state.last_transaction;
            state.running.insert(new);
            new
        })
    }
}

#[async_trait]
impl Transaction for MemoryTransaction {
    async fn insert(&mut self, rows: &[NewRow], how: Inserting) -> Result<()> {
        self.database.step("before insert").await?;
        let transaction = self.number();
        for new in rows {
            let mut state = self.database.lock();
            state.last_id += 1;
            let row = Row {
                transaction,
                created: Instant::now(),
                new: new.clone(),
                refused: None,
            };
            self.rows.push((state.last_id, row));
        }
        #[cfg(feature = "planted")]
        if how.notify && self.database.notifies_early {
            self.database.lock().wake("");
            return self.database.step("after insert").await;
        }
        self.notifies |= how.notify;
        self.database.step("after insert").await
    }

    async fn mark(&mut self, queue: &str, key: &[u8]) -> Result<bool> {
        self.database.step("before mark").await?;
        self.number();
        let mark = (queue.to_owned(), Bytes::copy_from_slice(key));
        let shared = Arc::clone(&self.database.shared);
        let first = loop {
            let ended = shared.ended.notified();
            let held = {
                let mut state = self.database.lock();
                let held = state.marks.get(&mark).copied();
                if held.is_none() {
                    state.marks.insert(mark.clone(), None);
                }
                held
            };
            match held {
                None => {
                    self.marks.push(mark);
                    break true;
                }
                Some(None) if !self.marks.contains(&mark) => ended.await,
                Some(_) => break false,
            }
        };
        self.database.step("after mark").await?;
        Ok(first)
    }
}

impl Drop for MemoryTransaction {
    fn drop(&mut self) {
        let mut state = self.database.lock();
        for mark in self.marks.drain(..) {
            state.marks.remove(&mark);
        }
        if let Some(number) = self.number {
            state.running.remove(&number);
        }
        drop(state);
        self.database.shared.ended.notify_waiters();
    }
}

impl fmt::Debug for MemoryTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTransaction")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for MemoryDatabase {
    async fn outbox(&self) -> Result<String> {
        self.step("before version").await?;
        Ok("memory".to_owned())
    }

    async fn take(&self, wish: &Wish) -> Result<Box<dyn Taken>> {
        self.step("before take").await?;
        let taken = {
            let mut state = self.lock();
            let waits = |id: &i64, row: &Row| {
                *id >= wish.from && row.refused.is_none() && wish.queues.contains(&row.new.queue)
            };
            let rows = state.rows.iter().filter(|(id, row)| waits(id, row));
            let free = rows.filter(|(id, _)| !state.locked.contains(id));
            let ids: Vec<i64> = free.map(|(id, _)| *id).take(wish.rows as usize).collect();
            let others = state.rows.iter().filter(|(id, row)| waits(id, row));
            let others: Vec<_> = others.filter(|(id, _)| !ids.contains(id)).collect();
            let mut rows = Vec::with_capacity(ids.len());
            let mut bytes = 0;
            for id in &ids {
                let row = &state.rows[id];
                let behind = others.iter().any(|(other, earlier)| {
                    **other < *id
                        && earlier.transaction == row.transaction
                        && earlier.new.queue == row.new.queue
                });
                let row = self.shared.taken(*id, row, behind);
                bytes += row.size() as u64;
                if bytes > wish.bytes && !rows.is_empty() {
                    break;
                }
                rows.push(row);
            }
            state.locked.extend(rows.iter().map(|row| row.id));
            MemoryTaken {
                database: self.clone(),
                rows,
            }
        };
        self.step("after take").await?;
        Ok(Box::new(taken))
    }

    async fn look(&self, queues: &[String], from: i64) -> Result<Option<Seen>> {
        self.step("before look").await?;
        let state = self.lock();
        let mut rows = state.rows.range(from..);
        let next = state.last_transaction + 1;
        Ok(Some(Seen {
            least: rows
                .find(|(_, row)| row.refused.is_none() && queues.contains(&row.new.queue))
                .map(|(id, _)| *id),
            last: state.last_id,
            running: state.running.first().copied().unwrap_or(next),
            next,
        }))
    }

    async fn listen(&self) -> Result<Option<Box<dyn Listener>>> {
        let (heard, hears) = unbounded_channel();
        self.lock().listeners.push(heard);
        Ok(Some(Box::new(MemoryListener(hears))))
    }

    async fn notify(&self, text: &str) -> Result<()> {
        self.lock().wake(text);
        Ok(())
    }

    async fn sweep(&self, keep: Duration, most: u32) -> Result<u64> {
        let mut state = self.lock();
        let old = |done: &Option<Instant>| done.is_some_and(|done| done.elapsed() > keep);
        let marks = state.marks.iter().filter(|(_, done)| old(done));
        let marks: Vec<_> = marks
            .map(|(mark, _)| mark.clone())
            .take(most as usize)
            .collect();
        for mark in &marks {
            state.marks.remove(mark);
        }
        Ok(marks.len() as u64)
    }
}

impl Shared {
    fn taken(&self, id: i64, row: &Row, behind: bool) -> OutboxRow {
        let created = row.created.duration_since(self.start);
        OutboxRow {
            id,
            created: i64::try_from(created.as_micros()).unwrap_or(i64::MAX),
            age: row.created.elapsed(),
            queue: row.new.queue.clone(),
            options: row.new.options.clone(),
            headers: row.new.headers.clone(),
            body: row.new.body.clone(),
            behind,
        }
    }
}

struct MemoryTaken {
    database: MemoryDatabase,
    rows: Vec<OutboxRow>,
}

#[async_trait]
impl Taken for MemoryTaken {
    fn rows(&self) -> &[OutboxRow] {
        &self.rows
    }

    async fn settle(self: Box<Self>, delete: &[i64], refuse: &[(i64, String)]) -> Result<()> {
        self.database.step("before settle").await?;
        {
            let mut state = self.database.lock();
            for id in delete {
                state.rows.remove(id);
            }
            for (id, reason) in refuse {
                if let Some(row) = state.rows.get_mut(id) {
                    row.refused = Some(reason.clone());
                }
            }
        }
        let database = self.database.clone();
        drop(self);
        database.step("after settle").await
    }
}

impl Drop for MemoryTaken {
    fn drop(&mut self) {
        let mut state = self.database.lock();
        for row in &self.rows {
            state.locked.remove(&row.id);
        }
    }
}

struct MemoryListener(UnboundedReceiver<String>);

#[async_trait]
impl Listener for MemoryListener {
    async fn next(&mut self) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        match self.0.recv_many(&mut texts, usize::MAX).await {
            0 => Err(Error::new(ErrorKind::Unavailable, "the listener is over")),
            _ => Ok(texts),
        }
    }
}
