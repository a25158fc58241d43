use std::num::NonZeroUsize;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Condition, Depth, Guarantees, Pushed, Result};
use redis::cmd;

use crate::{
    backend::{OpenTarget, Opened, Recipe},
    declared,
    lists::{accepted, one_length},
    server::{Connection, TypedKey},
    strategy::{NewEntry, Strategy, half_done},
};

const NEWEST_LAST: &str = "\
if redis.call('llen', KEYS[1]) >= tonumber(ARGV[1]) then redis.call('lpop', KEYS[1]) end
redis.call('rpush', KEYS[1], ARGV[2])";
const NEWEST_FIRST: &str = "\
if redis.call('llen', KEYS[1]) >= tonumber(ARGV[1]) then redis.call('rpop', KEYS[1]) end
redis.call('lpush', KEYS[1], ARGV[2])";
const TRIM: &str = "\
if redis.call('rpush', KEYS[1], ARGV[2]) > tonumber(ARGV[1]) then redis.call('lpop', KEYS[1]) end";

/// A list of a fixed length, whose newest entries are read: the last ten gifts, say.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a list of bodies, the newest last (with [`newest_first`](Self::newest_first): first) |
///
/// The length is the client's own, sent with each call, and stored nowhere. Each message is pushed by its own call. A
/// full list drops the oldest entry without notice (B2, L5). After the length was reduced, a push still drops at most
/// one entry, so the list never shrinks (B5).
///
/// The published scripts name `KEYS[1]` wherever they use it. Some vendors' cluster proxies refuse a script that puts
/// it into a local first; Redis itself does not.
#[derive(Debug, Clone)]
pub struct FixedLength {
    method: Method,
    key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Naive,
    NewestLast,
    NewestFirst,
    Trim,
    TrimInTwo,
}

impl FixedLength {
    /// `LLEN`, if it is full `LPOP`, `RPUSH`: three calls. Under concurrency the list grows beyond
    /// its length (B1).
    pub const fn naive() -> Self {
        Self::by(Method::Naive)
    }

    /// `LLEN`, if it is full `LPOP`, `RPUSH`, in one script.
    pub const fn newest_last() -> Self {
        Self::by(Method::NewestLast)
    }

    /// The same in one script, with the newest entry first.
    pub const fn newest_first() -> Self {
        Self::by(Method::NewestFirst)
    }

    /// `RPUSH`, and `LPOP` if the list is then too long, in one script.
    pub const fn trim() -> Self {
        Self::by(Method::Trim)
    }

    /// `RPUSH`, and `LPOP` if the list is then too long, in two calls: between them the list is too
    /// long (B1).
    pub const fn trim_in_two() -> Self {
        Self::by(Method::TrimInTwo)
    }

    const fn by(method: Method) -> Self {
        Self { method, key: None }
    }

    /// Uses the list of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl Recipe for FixedLength {
    fn guarantees(&self) -> Guarantees {
        let (name, broken) = match self.method {
            Method::Naive => ("fixed-length naive", true),
            Method::NewestLast => ("fixed-length newest last", false),
            Method::NewestFirst => ("fixed-length newest first", false),
            Method::Trim => ("fixed-length trim", false),
            Method::TrimInTwo => ("fixed-length trim in two", true),
        };
        let guarantees = declared::fixed_length(name);
        match broken {
            true => guarantees.caveat("B1", Condition::NoFaults, "its calls are several steps"),
            false => guarantees,
        }
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let list = List {
            method: self.method,
            key: opening.key(self.key.as_ref()),
            capacity: opening.capacity(),
        };
        opening.shell(self.guarantees(), list.key.clone(), |_| list)
    }
}

/// A list of limited length. [`KeyLock`](crate::KeyLock) puts a lock in front of it.
#[derive(Debug)]
pub(crate) struct List {
    method: Method,
    key: String,
    capacity: usize,
}

impl List {
    pub(crate) const fn newest_last(key: String, capacity: usize) -> Self {
        Self {
            method: Method::NewestLast,
            key,
            capacity,
        }
    }

    pub(crate) async fn add(&self, server: &Connection, body: &[u8]) -> Result<()> {
        let script = match self.method {
            Method::Naive => {
                let full = self.length(server).await? >= self.capacity as u64;
                if full {
                    self.pop(server).await?;
                }
                let pushed = self.push(server, body).await;
                // The oldest entry is gone already.
                return pushed
                    .map(drop)
                    .map_err(|error| half_done(usize::from(full), error));
            }
            Method::TrimInTwo => {
                if self.push(server, body).await? > self.capacity as u64 {
                    // The message is stored already.
                    let popped = self.pop(server).await;
                    popped.map_err(|error| half_done(1, error))?;
                }
                return Ok(());
            }
            Method::NewestLast => NEWEST_LAST,
            Method::NewestFirst => NEWEST_FIRST,
            Method::Trim => TRIM,
        };
        server
            .eval(script, &[&self.key], (self.capacity, body))
            .await
    }

    async fn length(&self, server: &Connection) -> Result<u64> {
        server.ask(cmd("LLEN").arg(&self.key)).await
    }

    async fn pop(&self, server: &Connection) -> Result<()> {
        let _oldest: Option<Bytes> = server.ask(cmd("LPOP").arg(&self.key)).await?;
        Ok(())
    }

    async fn push(&self, server: &Connection, body: &[u8]) -> Result<u64> {
        server.ask(cmd("RPUSH").arg(&self.key).arg(body)).await
    }
}

#[async_trait]
impl Strategy for List {
    type Held = Bytes;

    fn keys(&self) -> Vec<TypedKey> {
        vec![TypedKey::list(&self.key)]
    }

    fn capacity(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.capacity)
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        for (nth, entry) in entries.iter().enumerate() {
            let added = self.add(server, entry.body()).await;
            added.map_err(|error| half_done(nth, error))?;
        }
        Ok(accepted(entries))
    }

    async fn recent(&self, server: &Connection, n: usize) -> Result<Vec<Bytes>> {
        let n = n as i64;
        let newest_first = self.method == Method::NewestFirst;
        let (first, last) = if newest_first { (0, n - 1) } else { (-n, -1) };
        let mut range = cmd("LRANGE");
        range.arg(&self.key).arg(first).arg(last);
        let mut bodies: Vec<Bytes> = server.ask(&range).await?;
        if !newest_first {
            bodies.reverse();
        }
        Ok(bodies)
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        one_length(server, &self.key).await
    }
}
