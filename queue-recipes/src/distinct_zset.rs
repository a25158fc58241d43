use std::num::NonZeroUsize;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Condition, Depth, Guarantees, Pushed, Result};
use redis::cmd;

use crate::{
    backend::{OpenTarget, Opened, Recipe},
    declared,
    lists::accepted,
    server::{Connection, TypedKey},
    strategy::{NewEntry, Strategy, half_done},
};

const DROP_FIRST: &str = "\
if redis.call('zcard', KEYS[1]) >= tonumber(ARGV[1]) then redis.call('zpopmin', KEYS[1]) end
redis.call('zadd', KEYS[1], ARGV[2], ARGV[3])";
const ADD_FIRST: &str = "\
redis.call('zadd', KEYS[1], ARGV[2], ARGV[3])
if redis.call('zcard', KEYS[1]) > tonumber(ARGV[1]) then redis.call('zpopmin', KEYS[1]) end";

/// The newest different bodies, up to a length: each body once, at its latest time.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a sorted set of bodies by the client's time of their last push, in ms |
///
/// By default it drops before it adds, so pushing a body that is already in a full set drops another one (B2):
/// [`add_first`](Self::add_first) fixes that. A full set drops the oldest body without notice (L5). Ties within a
/// millisecond are ordered by the bytes of the bodies, and clients' clocks decide the order (B6).
#[derive(Debug, Clone, Default)]
pub struct DistinctZset {
    key: Option<String>,
    add_first: bool,
}

impl DistinctZset {
    /// Uses the sorted set of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Adds before it drops, so that pushing a body that is already there drops nothing.
    #[must_use]
    pub const fn add_first(mut self) -> Self {
        self.add_first = true;
        self
    }
}

impl Recipe for DistinctZset {
    fn guarantees(&self) -> Guarantees {
        let guarantees = declared::fixed_length(match self.add_first {
            true => "distinct-zset add first",
            false => "distinct-zset",
        })
        .caveat(
            "B6",
            Condition::NoFaults,
            "ties go by the bytes of the bodies",
        )
        .caveat(
            "B6",
            Condition::ClockAhead,
            "a body of a clock ahead stays the newest",
        );
        match self.add_first {
            true => guarantees,
            false => guarantees.caveat(
                "B2",
                Condition::EqualBodies,
                "to refresh a body of a full set drops another",
            ),
        }
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let set = Zset {
            key: opening.key(self.key.as_ref()),
            capacity: opening.capacity(),
            script: match self.add_first {
                true => ADD_FIRST,
                false => DROP_FIRST,
            },
        };
        opening.shell(self.guarantees(), set.key.clone(), |_| set)
    }
}

#[derive(Debug)]
struct Zset {
    key: String,
    capacity: usize,
    script: &'static str,
}

#[async_trait]
impl Strategy for Zset {
    type Held = Bytes;

    fn keys(&self) -> Vec<TypedKey> {
        vec![TypedKey::zset(&self.key)]
    }

    fn capacity(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.capacity)
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        for (nth, entry) in entries.iter().enumerate() {
            let now = server.now().as_millis();
            let arguments = (self.capacity, now, &entry.body()[..]);
            let added: Result<()> = server.eval(self.script, &[&self.key], arguments).await;
            added.map_err(|error| half_done(nth, error))?;
        }
        Ok(accepted(entries))
    }

    async fn recent(&self, server: &Connection, n: usize) -> Result<Vec<Bytes>> {
        let mut range = cmd("ZREVRANGE");
        range.arg(&self.key).arg(0).arg(n as i64 - 1);
        server.ask(&range).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        let ready = server.ask(cmd("ZCARD").arg(&self.key)).await?;
        Ok(Depth::new(ready, 0, 0, 0))
    }
}
