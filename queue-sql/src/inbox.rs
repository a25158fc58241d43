//! The consumer's side: an effect and its mark in one transaction.

use std::time::Duration;

use queue_core::{Bytes, Delivery, MessageId, Result, Token, limits};

use crate::{Statement, Store, Transaction};

/// How long marks are kept, unless [`Inbox::keep`] says otherwise: 30 days.
const KEEP: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Marks that one step of a sweep removes, at most.
pub(crate) const STEP: u32 = 1_000;

/// Makes a handler's effect happen once: the mark that it happened commits together with the effect.
///
/// ```
/// # #[cfg(all(feature = "sqlx-postgres", feature = "worker"))]
/// # async fn handle(pool: sqlx::PgPool, cx: queue_worker::Context) -> Result<(), Box<dyn std::error::Error>> {
/// use queue_sql::Inbox;
///
/// let inbox = Inbox::new();
/// let mut tx = pool.begin().await?;
/// if inbox.first(&mut *tx, &cx).await? {
///     sqlx::query("UPDATE accounts SET balance = balance - 5 WHERE id = 7").execute(&mut *tx).await?;
/// }
/// tx.commit().await?; // also if it was not the first
/// # Ok(())
/// # }
/// ```
///
/// If the handler dies before the commit, neither the effect nor the mark is there, and the next delivery is the first
/// again. If it dies after the commit, the next delivery finds the mark.
///
/// An effect outside of the database has no transaction with its mark: [`OnceKeys`](crate::OnceKeys) guard it as well as
/// can be.
///
/// A mark is kept for 30 days. A delivery after that is a first one again, so keep marks for longer than a message may
/// be delivered again; a dead letter may be revived late.
#[derive(Debug, Clone, Copy)]
pub struct Inbox {
    keep: Duration,
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Inbox {
    /// An inbox that keeps marks for 30 days.
    pub const fn new() -> Self {
        Self { keep: KEEP }
    }

    /// Sets how long marks are kept. [`sweep`](Self::sweep) removes older ones.
    #[must_use]
    pub const fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Marks the message or key in this transaction. Returns true the first time: then have the effect in the same
    /// transaction. While another open transaction has made the mark, this waits for its end.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty key, or one of more than 256 bytes. `Configuration` if the table is missing, is of another
    /// version, or may not be written; `Unavailable` if the database cannot be reached.
    pub async fn first<T: Transaction + ?Sized>(
        &self,
        transaction: &mut T,
        key: impl Into<InboxKey> + Send,
    ) -> Result<bool> {
        let key = key.into();
        limits::check_key(&key.key)?;
        transaction.mark(&key.queue, &key.key).await
    }

    /// The INSERT of a mark, for a client that this crate does not know. It is the first time if one row was inserted.
    ///
    /// # Errors
    ///
    /// `Invalid` for an empty key, or one of more than 256 bytes.
    pub fn statement(&self, key: impl Into<InboxKey>) -> Result<Statement> {
        let key = key.into();
        limits::check_key(&key.key)?;
        Ok(Statement::mark(&key.queue, key.key))
    }

    /// Removes marks that are older than the time to keep, 1,000 in each step. Returns their number. A
    /// [relay](crate::Relay::sweep) can do it from time to time.
    ///
    /// # Errors
    ///
    /// The database's. The steps before it stay done.
    pub async fn sweep(&self, store: &dyn Store) -> Result<u64> {
        let mut removed = 0;
        loop {
            let step = self.sweep_step(store).await?;
            removed += step;
            if step < u64::from(STEP) {
                return Ok(removed);
            }
        }
    }

    pub(crate) async fn sweep_step(&self, store: &dyn Store) -> Result<u64> {
        store.sweep(self.keep, STEP).await
    }
}

/// The key that an [`Inbox`] marks: a message of a queue, or a key of the caller's own.
///
/// A message is named by its id and by when it was pushed, because a queue whose history was lost or removed gives its
/// ids again (R1). A handler's [`Context`](https://docs.rs/queue-worker) is such a key, with the feature `worker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxKey {
    queue: String,
    key: Bytes,
}

impl InboxKey {
    /// A key of the caller's own within a queue, or any other space of names: 1 to 256 bytes. The number of an order is a
    /// better key than a message's if the same order may be pushed twice.
    pub fn new(queue: impl Into<String>, key: impl Into<Bytes>) -> Self {
        let (queue, key) = (queue.into(), key.into());
        Self { queue, key }
    }

    /// The message of this delivery, from the queue of this name.
    pub fn of(queue: impl Into<String>, delivery: &Delivery) -> Self {
        let token = delivery.receipt.token;
        Self::of_message(queue.into(), delivery.id(), token, delivery.age)
    }

    fn of_message(queue: String, id: MessageId, token: Token, age: Option<Duration>) -> Self {
        let leased = token.leased_at().as_millis();
        let age = age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let key = match age {
            Some(age) => format!("{id}@{}", leased.saturating_sub(age)),
            None => id.to_string(),
        };
        Self::new(queue, key)
    }
}

#[cfg(feature = "worker")]
impl From<&queue_worker::Context> for InboxKey {
    fn from(cx: &queue_worker::Context) -> Self {
        Self::of_message(cx.queue().to_owned(), cx.id(), cx.token(), cx.age())
    }
}
