//! What a published strategy says of itself. The shell makes a queue of it.

use std::{fmt::Debug, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    DeadLetter, DeathReason, Depth, Disposition, Due, Error, ErrorKind, Headers, MessageId,
    Outcome, Push, Pushed, Result, Settled, Timestamp,
};
use redis::cmd;

use super::server::{Connection, Key, id_of};

/// A message to put in.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntry<'a> {
    pub(super) push: &'a Push,
    pub(super) due: Due,
    pub(super) priority: i16,
}

impl<'a> NewEntry<'a> {
    /// A message that is due at once, of priority 0.
    pub(super) const fn new(push: &'a Push) -> Self {
        Self {
            push,
            due: Due::After(Duration::ZERO),
            priority: 0,
        }
    }

    pub(super) const fn body(&self) -> &'a Bytes {
        &self.push.body
    }
}

/// A message that was taken.
#[derive(Debug)]
pub(super) struct Taken<H> {
    pub(super) id: MessageId,
    pub(super) body: Bytes,
    /// 1 where the strategy counts none.
    pub(super) attempt: u32,
    /// What finds the entry again on the server.
    pub(super) held: H,
}

/// What finds a taken entry again.
pub(super) trait HeldMessage: Debug + Clone + Send + Sync + 'static {}

impl<T: Debug + Clone + Send + Sync + 'static> HeldMessage for T {}

/// What a strategy does to the server: no more than was published, and one step to put an entry
/// back.
///
/// The shell calls only what the strategy's [`Guarantees`](queue_core::Guarantees) say that it has;
/// the other methods keep their bodies.
#[async_trait]
pub(super) trait Strategy: Debug + Send + Sync + 'static {
    /// What finds a taken entry again. Where none is taken, the body, as for most: each other type is one more
    /// shell to compile.
    type Held: HeldMessage;

    /// Its keys, whose types an open checks.
    fn keys(&self) -> Vec<Key>;

    /// What the names of the keys begin with that it makes as it goes.
    fn beginnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The list of dead letters, where it has one.
    fn dead(&self) -> Option<&str> {
        None
    }

    /// The dead letters from the nth on: the entries of the list of dead letters. It keeps neither
    /// reason, attempts nor time.
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

    /// The time between two looks of who waits.
    fn poll(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Makes what has to be there before the first call.
    async fn prepare(&self, _server: &Connection) -> Result<()> {
        Ok(())
    }

    /// Puts messages in.
    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>>;

    /// Takes up to `max` messages, for so long where leases expire.
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

    /// Keeps the entry for so long from now on. Says whether it is still held.
    async fn extend(
        &self,
        _server: &Connection,
        _held: &Self::Held,
        _lease_time: Duration,
    ) -> Result<bool> {
        Ok(true)
    }

    /// Waits for something to take, up to `timeout`.
    async fn wait(&self, _server: &Connection, timeout: Duration) -> Result<()> {
        tokio::time::sleep(timeout.min(self.poll())).await;
        Ok(())
    }

    /// The messages in each place.
    async fn depth(&self, server: &Connection) -> Result<Depth>;

    /// The newest `n` bodies, the newest first.
    async fn recent(&self, _server: &Connection, _n: usize) -> Result<Vec<Bytes>> {
        Err(undeclared("recent"))
    }

    /// The length that it is kept to.
    fn capacity(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Visits up to `max` items of a ring.
    async fn rotate(&self, _server: &Connection, _max: usize) -> Result<Vec<Bytes>> {
        Err(undeclared("rotate"))
    }

    /// The items of a ring from the nth on, in the order of visits.
    async fn list(&self, _server: &Connection, _from: usize, _most: usize) -> Result<Vec<Bytes>> {
        Err(undeclared("list"))
    }

    /// Takes an item of this id out of a ring.
    async fn remove(&self, _server: &Connection, _ids: &[MessageId]) -> Result<u64> {
        Err(undeclared("remove"))
    }
}

/// A dead letter of which nothing is known but the message.
pub(super) fn buried(id: MessageId, body: Bytes) -> DeadLetter {
    DeadLetter {
        id,
        body,
        headers: Headers::default(),
        reason: DeathReason::Buried(String::new()),
        failure: None,
        attempts: 1,
        pushed_at: Timestamp::default(),
        died_at: Timestamp::default(),
    }
}

/// The error of the nth entry of a batch whose entries go one by one: those before it are done.
pub(super) fn half_done(nth: usize, error: Error) -> Error {
    match nth {
        0 => error,
        _ => error.with_outcome(Outcome::Unknown),
    }
}

/// A strategy declares a call in its guarantees and does not implement it.
fn undeclared(what: &str) -> Error {
    let message = format!("a strategy declares calls that need `{what}`, and does not have it");
    Error::new(ErrorKind::Internal, message)
}
