use std::num::NonZeroUsize;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Condition, Depth, Feature, Guarantees, MessageId, Pushed, Result, millis_ceil};
use redis::cmd;

use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    fixed_length::List,
    server::{Connection, TypedKey, id_of},
    strategy::{NewEntry, Strategy, half_done},
};

/// Faults after which a producer holds a lock but does not push, or never learns that it holds the lock.
const UNPUSHED: [&str; 7] = [
    "crashed",
    "cut",
    "reply lost",
    "request lost",
    "late",
    "partition",
    "cancelled",
];

/// A list of a fixed length behind a lock for each key: a push that repeats a key within its window is refused.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a list of bodies, the newest last |
/// | `{…}:lock:{key}` | a string, ours by name, the id of the first push; it expires after the window |
///
/// Key and window come from the push's dedup; a push without it takes no lock. A lock ends only with its window, so a
/// dedup key that should end with its message is refused. If a client dies between lock and push, the message is lost,
/// and repeats of it are refused for the whole window (L9). Everything else is as for
/// [`FixedLength::newest_last`](crate::FixedLength::newest_last).
#[derive(Debug, Clone, Default)]
pub struct KeyLock {
    key: Option<String>,
    lock_prefix: Option<String>,
}

impl KeyLock {
    /// Uses the list of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The beginning of the locks' keys, before the dedup key, for programs that have their own names for the locks. By
    /// default `{gifts}:lock:` for the list `gifts`.
    #[must_use]
    pub fn lock_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.lock_prefix = Some(prefix.into());
        self
    }
}

impl Recipe for KeyLock {
    fn guarantees(&self) -> Guarantees {
        const LOCKED: &str = "the lock outlives a push that never came";
        let mut guarantees = declared::fixed_length("key-lock");
        for fault in UNPUSHED {
            guarantees = guarantees.caveat("L9", Condition::Fault(fault), LOCKED);
        }
        guarantees.lacking.remove(&Feature::Dedup);
        guarantees
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let name = opening.key(self.key.as_ref());
        let locked = Locked {
            lock: companion(self.lock_prefix.as_ref(), &name, "lock:"),
            list: List::newest_last(name.clone(), opening.capacity()),
        };
        opening.shell(self.guarantees(), name, |_| locked)
    }
}

#[derive(Debug)]
struct Locked {
    list: List,
    lock: String,
}

impl Locked {
    /// Takes the lock; returns the id in it if somebody else holds it.
    async fn lock(&self, server: &Connection, entry: NewEntry<'_>) -> Result<Option<MessageId>> {
        let Some(dedup) = &entry.push.dedup else {
            return Ok(None);
        };
        let key = [self.lock.as_bytes(), &dedup.key].concat();
        let id = id_of(entry.body());
        let mut lock = cmd("SET");
        lock.arg(&key).arg(id.get()).arg("NX");
        lock.arg("PX").arg(millis_ceil(dedup.window));
        loop {
            let taken: Option<String> = server.ask(&lock).await?;
            if taken.is_some() {
                return Ok(None);
            }
            // The lock may expire between the two commands: then it is free.
            let first: Option<Bytes> = server.ask(cmd("GET").arg(&key)).await?;
            if let Some(first) = first {
                return Ok(Some(locked_by(&first)));
            }
        }
    }
}

/// The id in a lock. A lock with a foreign producer's text gets an id from that text.
fn locked_by(content: &[u8]) -> MessageId {
    let number = std::str::from_utf8(content).ok();
    let number = number.and_then(|number| number.parse().ok());
    number.map_or_else(|| id_of(content), MessageId::new)
}

#[async_trait]
impl Strategy for Locked {
    type Held = Bytes;

    fn keys(&self) -> Vec<TypedKey> {
        self.list.keys()
    }

    fn beginnings(&self) -> Vec<String> {
        vec![self.lock.clone()]
    }

    fn capacity(&self) -> Option<NonZeroUsize> {
        self.list.capacity()
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        let mut put = Vec::with_capacity(entries.len());
        for (nth, entry) in entries.iter().enumerate() {
            let locked = self.lock(server, *entry).await;
            let pushed = match locked.map_err(|error| half_done(nth, error))? {
                Some(first) => Pushed::Duplicate(first),
                None => {
                    let added = self.list.add(server, entry.body()).await;
                    // The lock is taken already.
                    added.map_err(|error| half_done(nth + 1, error))?;
                    Pushed::Accepted(id_of(entry.body()))
                }
            };
            put.push(pushed);
        }
        Ok(put)
    }

    async fn recent(&self, server: &Connection, n: usize) -> Result<Vec<Bytes>> {
        self.list.recent(server, n).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        self.list.depth(server).await
    }
}
