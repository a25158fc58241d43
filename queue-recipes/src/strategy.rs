//! The interface of a published strategy. The shell makes a queue of it.

use std::{fmt::Debug, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    DeadLetter, DeathReason, Depth, Disposition, Due, Error, ErrorKind, MessageId, Outcome, Push,
    Pushed, Result, Settled, Timestamp,
};
use redis::cmd;

use crate::server::{Connection, TypedKey, id_of};

/// A message to push.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewEntry<'a> {
    pub(crate) push: &'a Push,
    pub(crate) due: Due,
    pub(crate) priority: i16,
}

impl<'a> NewEntry<'a> {
    /// The message, due at once and of priority 0 if the push does not say.
    pub(crate) fn new(push: &'a Push) -> Self {
        Self {
            push,
            due: push.due.unwrap_or(Due::After(Duration::ZERO)),
            priority: push.priority.unwrap_or(0),
        }
    }

    pub(crate) const fn body(&self) -> &'a Bytes {
        &self.push.body
    }
}

/// A message that was taken.
#[derive(Debug)]
pub(crate) struct Taken<H> {
    pub(crate) id: MessageId,
    pub(crate) body: Bytes,
    /// 1 if the strategy does not count attempts.
    pub(crate) attempt: u32,
    /// The priority, if the strategy has priorities.
    pub(crate) priority: Option<i16>,
    /// The data that finds the entry again on the server.
    pub(crate) held: H,
}

/// The data that finds a taken entry again.
pub(crate) trait HeldMessage: Debug + Clone + Send + Sync + 'static {}

impl<T: Debug + Clone + Send + Sync + 'static> HeldMessage for T {}

/// The operations of a strategy on the server: only what was published, and one step to put an entry back.
///
/// The shell calls only what the strategy's [`Guarantees`](queue_core::Guarantees) declare; the other methods keep
/// their default bodies.
#[async_trait]
pub(crate) trait Strategy: Debug + Send + Sync + 'static {
    /// The data that finds a taken entry again. A strategy that takes none uses the body, as most do, because each
    /// other type is one more shell to compile.
    type Held: HeldMessage;

    /// The strategy's keys, whose types are checked when a queue opens.
    fn keys(&self) -> Vec<TypedKey>;

    /// The beginnings of keys that the strategy creates later.
    fn beginnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The list of dead letters, if the strategy has one.
    fn dead(&self) -> Option<&str> {
        None
    }

    /// The dead letters from index `from` on: the entries of the list of dead letters, which stores neither reason,
    /// attempts nor time.
    async fn dead_letters(
        &self,
        server: &Connection,
        from: usize,
        most: usize,
    ) -> Result<Vec<DeadLetter>> {
        let dead = self.dead().ok_or_else(|| undeclared("dead"))?;
        let mut range = cmd("LRANGE");
        range.arg(dead).arg(from).arg(from + most - 1);
        let entries: Vec<Bytes> = server.ask(&range).await?;
        let letters = entries.iter().map(|entry| self.read_dead(entry));
        Ok(letters.map(|(id, body)| buried(id, body)).collect())
    }

    /// The id and the body of an entry of the list of dead letters.
    fn read_dead(&self, entry: &Bytes) -> (MessageId, Bytes) {
        (id_of(entry), entry.clone())
    }

    /// The number of attempts that a message has; without limit if the strategy counts none.
    fn max_attempts(&self) -> u32 {
        u32::MAX
    }

    /// The time between two polls of a waiting caller.
    fn poll(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Creates what has to exist before the first call.
    async fn prepare(&self, _server: &Connection) -> Result<()> {
        Ok(())
    }

    /// Pushes messages.
    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>>;

    /// Takes up to `max` messages, for the lease time if leases expire.
    async fn take(
        &self,
        _server: &Connection,
        _max: usize,
        _lease_time: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        Err(undeclared("take"))
    }

    /// Ends the hold on a taken entry, in one step.
    async fn end(
        &self,
        _server: &Connection,
        _held: &Self::Held,
        _how: &Disposition,
    ) -> Result<Settled> {
        Err(undeclared("end"))
    }

    /// Keeps the entry for this time from now on. Returns true if it is still held.
    async fn extend(
        &self,
        _server: &Connection,
        _held: &Self::Held,
        _lease_time: Duration,
    ) -> Result<bool> {
        Ok(true)
    }

    /// Waits for an entry to take, up to `timeout`.
    async fn wait(&self, _server: &Connection, timeout: Duration) -> Result<()> {
        tokio::time::sleep(timeout.min(self.poll())).await;
        Ok(())
    }

    /// The number of messages in each state.
    async fn depth(&self, server: &Connection) -> Result<Depth>;

    /// The newest `n` bodies, the newest first.
    async fn recent(&self, _server: &Connection, _n: usize) -> Result<Vec<Bytes>> {
        Err(undeclared("recent"))
    }

    /// The maximum length.
    fn capacity(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Visits up to `max` items of a ring.
    async fn rotate(&self, _server: &Connection, _max: usize) -> Result<Vec<Bytes>> {
        Err(undeclared("rotate"))
    }

    /// The items of a ring from index `from` on, in the order of visits.
    async fn list(&self, _server: &Connection, _from: usize, _most: usize) -> Result<Vec<Bytes>> {
        Err(undeclared("list"))
    }

    /// Removes an item of each id from a ring.
    async fn remove(&self, _server: &Connection, _ids: &[MessageId]) -> Result<u64> {
        Err(undeclared("remove"))
    }
}

/// A dead letter of which only the message is known.
pub(crate) fn buried(id: MessageId, body: Bytes) -> DeadLetter {
    let (reason, never) = (DeathReason::Buried(String::new()), Timestamp::default());
    DeadLetter::new(id, body, reason, 1, never, never)
}

/// The error of the nth entry of a batch whose entries are sent one by one: the entries before it are done.
pub(crate) fn half_done(nth: usize, error: Error) -> Error {
    match nth {
        0 => error,
        _ => error.with_outcome(Outcome::Unknown),
    }
}

/// The error for a strategy that declares a call in its guarantees and does not implement it.
fn undeclared(what: &str) -> Error {
    let message = format!("a strategy declares calls that need `{what}`, and does not have it");
    Error::new(ErrorKind::Internal, message)
}
