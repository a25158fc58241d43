//! A client's transaction and its database, as this crate uses them.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;
use queue_core::{Error, ErrorKind, Result};

use crate::{
    NewRow, OutboxRow, Statement,
    overview::{self, OutboxCounts, RefusedRow},
};

/// A transaction of a client, open at the caller's.
///
/// Implemented for sqlx's `PgConnection` and `SqliteConnection` (pass `&mut *tx` of a `Transaction`), for
/// tokio-postgres' `Transaction`, and for the store in memory.
#[async_trait]
pub trait Transaction: Send {
    /// Inserts rows into `queue_outbox`, in this order.
    ///
    /// # Errors
    ///
    /// The database's. The transaction is then as the database leaves it.
    async fn insert(&mut self, rows: &[NewRow], how: Inserting) -> Result<()>;

    /// Inserts a key of this queue into `queue_inbox`, unless it is there. Returns true if it was not. While another open
    /// transaction has inserted the key, this waits for its end.
    ///
    /// # Errors
    ///
    /// The database's. The transaction is then as the database leaves it.
    async fn mark(&mut self, queue: &str, key: &[u8]) -> Result<bool>;
}

/// How an [`Outbox`](crate::Outbox) inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inserting {
    /// Wakes relays when the transaction commits, if the database can.
    pub notify: bool,
    /// The connection may keep the statement prepared.
    pub prepared: bool,
}

/// A database with the tables of this crate, as relays and sweeps use it.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// Checks the version of the tables, and returns the outbox's name in dedup keys.
    ///
    /// # Errors
    ///
    /// `Configuration` if the tables are missing or of another version; the text names the way out.
    async fn outbox(&self) -> Result<String>;

    /// Takes rows, in order of their ids, and passes over those that other relays have.
    ///
    /// # Errors
    ///
    /// The database's.
    async fn take(&self, wish: &Wish) -> Result<Box<dyn Taken>>;

    /// A view of the least ids that may be there, for rows of these queues from the id `from` on. `None` if all rows are
    /// cheap to look through.
    ///
    /// # Errors
    ///
    /// The database's.
    async fn look(&self, queues: &[String], from: i64) -> Result<Option<Seen>> {
        let _ = (queues, from);
        Ok(None)
    }

    /// Opens a listener for wake-ups; `None` if the database has none.
    ///
    /// # Errors
    ///
    /// The database's.
    async fn listen(&self) -> Result<Option<Box<dyn Listener>>> {
        Ok(None)
    }

    /// Wakes all listeners.
    ///
    /// # Errors
    ///
    /// The database's.
    async fn notify(&self, text: &str) -> Result<()> {
        let _ = text;
        Ok(())
    }

    /// Runs a statement in a transaction of its own, and returns its rows, whose columns are all text. A text for SQLite
    /// may be several statements; the first of them writes if any does.
    ///
    /// # Errors
    ///
    /// The database's. `Configuration` if the store runs no statements.
    async fn run(&self, statement: &Statement) -> Result<Vec<Vec<Option<String>>>> {
        let _ = statement;
        let message = "this store of queue-sql runs no statements: use one in a database";
        Err(Error::new(ErrorKind::Configuration, message))
    }

    /// Counts the rows of the outbox, by queue. It reads all of them.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    async fn counts(&self) -> Result<Vec<OutboxCounts>> {
        let rows = self.run(&overview::counts()).await?;
        rows.into_iter().map(OutboxCounts::read).collect()
    }

    /// Lists rows that are kept apart, `most` at most, in order of their ids, from the one after `after` on.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    async fn refused(&self, after: i64, most: u32) -> Result<Vec<RefusedRow>> {
        let rows = self.run(&overview::refused(after, most)).await?;
        rows.into_iter().map(RefusedRow::read).collect()
    }

    /// Puts rows that are kept apart into the outbox again, those with these ids or all of them, and returns their old
    /// ids. A new row has a new key, so a message that its queue has got before comes twice.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run). Either all of these rows are new ones, or none is.
    async fn retry(&self, ids: Option<&[i64]>) -> Result<Vec<i64>> {
        let rows = self.run(&overview::retry(ids)).await?;
        rows.into_iter().map(overview::id).collect()
    }

    /// Removes marks of the inbox that are older than `keep`, `most` at most. Returns their number.
    ///
    /// # Errors
    ///
    /// The database's.
    async fn sweep(&self, keep: Duration, most: u32) -> Result<u64>;
}

/// Which rows a relay wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Only rows of these queues.
    pub queues: Vec<String>,
    /// Only rows with this id or a greater one.
    pub from: i64,
    /// The most rows.
    pub rows: u32,
    /// The most bytes of bodies and headers; the first row is taken in any case.
    pub bytes: u64,
}

/// Rows that no other relay takes until [`settle`](Taken::settle), or until this is dropped.
#[async_trait]
pub trait Taken: Send {
    /// The rows, in order of their ids.
    fn rows(&self) -> &[OutboxRow];

    /// Deletes rows, keeps others apart with the reason, gives the rest back, and commits.
    ///
    /// # Errors
    ///
    /// The database's. The rows then come again, or they do not.
    async fn settle(self: Box<Self>, delete: &[i64], refuse: &[(i64, String)]) -> Result<()>;
}

/// Wake-ups of a database.
#[async_trait]
pub trait Listener: Send {
    /// Waits for wake-ups, and returns the texts of all that have arrived.
    ///
    /// # Errors
    ///
    /// The database's; the listener is then over.
    async fn next(&mut self) -> Result<Vec<String>>;
}

/// What a database shows at one instant, as far as a relay has to know where its scan may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The least id of a row that waits.
    pub least: Option<i64>,
    /// The greatest id that was given out, read after the instant.
    pub last: i64,
    /// The least number of a transaction that runs at the instant; else `next`.
    pub running: u64,
    /// The number that the next transaction gets.
    pub next: u64,
}
