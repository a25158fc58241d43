//! The commands of the strategy, with or without a processing set.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{DeadLetter, Depth, Disposition, Due, Pushed, Result, Settled, Timestamp};
use redis::cmd;

use super::{ZsetJson, fields, processing::Processing};
use crate::{
    lists::accepted,
    server::{Connection, TypedKey, id_of},
    strategy::{NewEntry, Strategy, Taken, buried},
    zsets,
};

#[derive(Debug)]
pub(super) struct Zset {
    pub(super) queue: String,
    pub(super) dead: String,
    pub(super) consumed: String,
    /// Used only with processing.
    pub(super) processing: Processing,
    pub(super) recipe: ZsetJson,
}

impl Zset {
    /// The processing set, where claimed messages are kept.
    fn processing(&self) -> Option<&Processing> {
        self.recipe.processing.then_some(&self.processing)
    }

    fn score(&self, server: &Connection, due: Due, body: &Bytes) -> i64 {
        let due = due.resolve(server.now()).as_millis();
        let due = i64::try_from(due).unwrap_or(i64::MAX);
        let priority = match self.recipe.priority {
            true => fields::priority(body),
            false => 0,
        };
        // The published consumer reads from score 0 on.
        due.saturating_sub(priority).max(0)
    }

    async fn claim(
        &self,
        server: &Connection,
        max: usize,
        lease_time: Duration,
    ) -> Result<Vec<Bytes>> {
        match self.processing() {
            Some(processing) => processing.claim(server, max, lease_time).await,
            None => zsets::claim(server, &self.queue, server.now().as_millis(), max).await,
        }
    }

    /// The value that identifies a message that was consumed before.
    fn once_key(&self, body: &Bytes) -> Option<String> {
        fields::named(body, self.recipe.once_by.as_ref()?)
    }

    async fn is_consumed(&self, server: &Connection, body: &Bytes) -> Result<bool> {
        match self.once_key(body) {
            Some(key) => {
                server
                    .ask(cmd("SISMEMBER").arg(&self.consumed).arg(key))
                    .await
            }
            None => Ok(false),
        }
    }

    async fn ack(&self, server: &Connection, body: &Bytes) -> Result<Settled> {
        if let Some(key) = self.once_key(body) {
            let _added: u64 = server.ask(cmd("SADD").arg(&self.consumed).arg(key)).await?;
        }
        match self.processing() {
            Some(processing) => processing.ack(server, body).await,
            None => Ok(Settled::Done),
        }
    }

    /// Puts a message back, due after the delay.
    async fn put_back(
        &self,
        server: &Connection,
        body: &Bytes,
        delay: Duration,
        counts: bool,
    ) -> Result<Settled> {
        let due = self.score(server, Due::After(delay), body);
        if let Some(processing) = self.processing() {
            return processing.put_back(server, body, due, counts).await;
        }
        let mut add = cmd("ZADD");
        add.arg(&self.queue).arg(due).arg(&body[..]);
        let _added: u64 = server.ask(&add).await?;
        Ok(Settled::Done)
    }

    async fn bury(&self, server: &Connection, body: &Bytes) -> Result<Settled> {
        if let Some(processing) = self.processing() {
            return processing.bury(server, body).await;
        }
        let mut add = cmd("ZADD");
        add.arg(&self.dead).arg(server.now().as_millis());
        let _added: u64 = server.ask(add.arg(&body[..])).await?;
        Ok(Settled::Dead)
    }
}

#[async_trait]
impl Strategy for Zset {
    type Held = Bytes;

    fn keys(&self) -> Vec<TypedKey> {
        let mut keys = vec![TypedKey::zset(&self.queue), TypedKey::zset(&self.dead)];
        if let Some(processing) = self.processing() {
            keys.push(TypedKey::zset(&processing.claimed));
            keys.push(TypedKey::new(&processing.retries, "hash"));
        }
        if self.recipe.once_by.is_some() {
            keys.push(TypedKey::set(&self.consumed));
        }
        keys
    }

    fn max_attempts(&self) -> u32 {
        let processing = self.processing();
        processing.map_or(u32::MAX, |processing| processing.max_attempts)
    }

    /// In the order of their deaths.
    async fn dead_letters(
        &self,
        server: &Connection,
        from: usize,
        most: usize,
    ) -> Result<Vec<DeadLetter>> {
        let mut range = cmd("ZRANGE");
        range.arg(&self.dead).arg(from).arg(from + most - 1);
        let dead: Vec<(Bytes, f64)> = server.ask(range.arg("WITHSCORES")).await?;
        let dead = dead.into_iter().map(|(body, died_at)| {
            let mut letter = buried(id_of(&body), body);
            letter.died_at = Timestamp::from_millis(died_at as u64);
            letter
        });
        Ok(dead.collect())
    }

    fn poll(&self) -> Duration {
        self.recipe.poll
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        let mut add = cmd("ZADD");
        add.arg(&self.queue);
        for entry in entries {
            let score = self.score(server, entry.due, entry.body());
            add.arg(score).arg(&entry.body()[..]);
        }
        let _added: u64 = server.ask(&add).await?;
        Ok(accepted(entries))
    }

    async fn take(
        &self,
        server: &Connection,
        max: usize,
        lease_time: Duration,
    ) -> Result<Vec<Taken<Bytes>>> {
        let mut taken = Vec::new();
        for body in self.claim(server, max, lease_time).await? {
            if self.is_consumed(server, &body).await? {
                // If the lease was lost, the next holder finds the same.
                let _ = self.ack(server, &body).await?;
                continue;
            }
            let retries = match self.processing() {
                Some(processing) => processing.retries(server, &body).await?,
                None => 0,
            };
            taken.push(Taken {
                id: id_of(&body),
                attempt: retries + 1,
                priority: None,
                held: body.clone(),
                body,
            });
        }
        Ok(taken)
    }

    async fn end(&self, server: &Connection, body: &Bytes, how: &Disposition) -> Result<Settled> {
        match how {
            Disposition::Ack | Disposition::AckWith(_) => self.ack(server, body).await,
            Disposition::Retry { delay, .. } => self.put_back(server, body, *delay, true).await,
            Disposition::Defer { delay } => self.put_back(server, body, *delay, false).await,
            Disposition::Release => self.put_back(server, body, Duration::ZERO, false).await,
            Disposition::Bury { .. } => self.bury(server, body).await,
        }
    }

    async fn extend(
        &self,
        server: &Connection,
        body: &Bytes,
        lease_time: Duration,
    ) -> Result<bool> {
        match self.processing() {
            Some(processing) => processing.extend(server, body, lease_time).await,
            None => Ok(true),
        }
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        let mut depth = zsets::depth(server, &self.queue, server.now().as_millis()).await?;
        depth.dead = server.ask(cmd("ZCARD").arg(&self.dead)).await?;
        if let Some(processing) = self.processing() {
            depth.leased = processing.count(server).await?;
        }
        Ok(depth)
    }
}
