//! The commands of the strategy.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Depth, Disposition, Due, Pushed, Result, Settled, millis_ceil};
use redis::{Value, cmd};

use super::ZsetString;
use crate::{
    lists,
    server::{Connection, TypedKey, id_of},
    strategy::{NewEntry, Strategy, Taken},
    zsets,
};

/// Puts a message back under its key, in one step.
const PUT_BACK: &str = "\
redis.call('set', KEYS[2], ARGV[1])
redis.call('zadd', KEYS[1], ARGV[2], KEYS[2])";

#[derive(Debug)]
pub(super) struct Zset {
    pub(super) key: String,
    pub(super) dead: String,
    pub(super) recipe: ZsetString,
}

impl Zset {
    /// A time in whole units, rounded down.
    fn units(&self, millis: u64) -> u64 {
        millis / millis_ceil(self.recipe.unit)
    }

    /// The score of a message with this due time.
    fn score(&self, server: &Connection, due: Due) -> u64 {
        let due = due.resolve(server.now()).as_millis();
        self.units(due.saturating_sub(millis_ceil(self.recipe.previous)))
    }

    /// The last score that is due.
    fn until(&self, server: &Connection) -> u64 {
        let previous = self.units(millis_ceil(self.recipe.previous));
        self.units(server.now().as_millis())
            .saturating_sub(previous)
    }
}

#[async_trait]
impl Strategy for Zset {
    /// The string's key, and the body that was in it.
    type Held = (String, Bytes);

    fn keys(&self) -> Vec<TypedKey> {
        vec![TypedKey::zset(&self.key), TypedKey::list(&self.dead)]
    }

    fn beginnings(&self) -> Vec<String> {
        vec![format!("{}_", self.recipe.prefix)]
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.dead)
    }

    fn poll(&self) -> Duration {
        self.recipe.poll
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        let mut commands = Vec::with_capacity(2 * entries.len());
        let mut put = Vec::with_capacity(entries.len());
        for entry in entries {
            let key = format!("{}_{}", self.recipe.prefix, server.uuid());
            commands.push(cmd("SET").arg(&key).arg(&entry.body()[..]).take());
            let score = self.score(server, entry.due);
            commands.push(cmd("ZADD").arg(&self.key).arg(score).arg(&key).take());
            put.push(Pushed::Accepted(id_of(key.as_bytes())));
        }
        let _answers: Vec<Value> = server.pipeline(commands).await?;
        Ok(put)
    }

    async fn take(
        &self,
        server: &Connection,
        max: usize,
        _: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        let (until, most) = (self.until(server), max.min(self.recipe.num));
        let ours: Vec<String> = zsets::claim(server, &self.key, until, most).await?;
        if ours.is_empty() {
            return Ok(Vec::new());
        }
        let bodies: Vec<Option<Bytes>> = server.ask(cmd("MGET").arg(&ours)).await?;
        let _removed: u64 = server.ask(cmd("DEL").arg(&ours)).await?;
        let taken = ours.into_iter().zip(bodies);
        let taken = taken.filter_map(|(key, body)| {
            body.map(|body| Taken {
                id: id_of(key.as_bytes()),
                attempt: 1,
                priority: None,
                held: (key, body.clone()),
                body,
            })
        });
        Ok(taken.collect())
    }

    async fn end(
        &self,
        server: &Connection,
        (key, body): &(String, Bytes),
        how: &Disposition,
    ) -> Result<Settled> {
        let delay = match how {
            Disposition::Ack | Disposition::AckWith(_) => return Ok(Settled::Done),
            Disposition::Bury { .. } => {
                lists::push_one(server, "RPUSH", &self.dead, body).await?;
                return Ok(Settled::Dead);
            }
            Disposition::Retry { delay, .. } | Disposition::Defer { delay } => *delay,
            Disposition::Release => Duration::ZERO,
        };
        let score = self.score(server, Due::After(delay));
        let () = server
            .eval(PUT_BACK, &[&self.key, key], (&body[..], score))
            .await?;
        Ok(lists::settled(how))
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        zsets::depth(server, &self.key, self.until(server)).await
    }
}
