//! The commands of the strategy.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Depth, Disposition, Due, MessageId, Pushed, Result, Running, Settled};
use redis::cmd;

use super::{
    keys::{ACTIVE_TOPICS, WAITING_TOPICS},
    message::{self, TopicMessage},
};
use crate::{
    lists::{self, settled},
    pops::Pops,
    server::{Connection, TypedKey, id_of},
    strategy::{NewEntry, Strategy, Taken, half_done},
};

const PUSH: &str = "\
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
return 1";

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) topic: String,
    /// The sorted set.
    pub(super) waiting: String,
    /// The list.
    pub(super) active: String,
    pub(super) dead: String,
    pub(super) pops: Pops<Bytes>,
    pub(super) _distributor: Option<Running>,
}

impl Topic {
    async fn push(&self, server: &Connection, member: &[u8], due: u64) -> Result<()> {
        let arguments = (&self.waiting, due, member);
        server
            .eval(PUSH, &[WAITING_TOPICS, &self.waiting], arguments)
            .await
    }
}

#[async_trait]
impl Strategy for Topic {
    /// The message as it was in the list.
    type Held = Bytes;

    fn keys(&self) -> Vec<TypedKey> {
        vec![
            TypedKey::set(WAITING_TOPICS),
            TypedKey::zset(&self.waiting),
            TypedKey::set(ACTIVE_TOPICS),
            TypedKey::list(&self.active),
            TypedKey::list(&self.dead),
        ]
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.dead)
    }

    fn read_dead(&self, message: &Bytes) -> (MessageId, Bytes) {
        read(message)
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        let now = server.now();
        // Written before anything is sent, because a body may not be valid in JSON.
        let messages = entries.iter().map(|entry| {
            let (id, due) = (server.uuid(), entry.due.resolve(now));
            let message = message::written(&self.topic, &id, entry.body(), now, due)?;
            Ok((id, message, due.as_millis()))
        });
        let messages: Vec<(String, String, u64)> = messages.collect::<Result<_>>()?;
        for (nth, (_, message, due)) in messages.iter().enumerate() {
            let pushed = self.push(server, message.as_bytes(), *due).await;
            pushed.map_err(|error| half_done(nth, error))?;
        }
        let ids = messages.iter().map(|(id, ..)| id_of(id.as_bytes()));
        Ok(ids.map(Pushed::Accepted).collect())
    }

    async fn take(
        &self,
        server: &Connection,
        max: usize,
        _: Duration,
    ) -> Result<Vec<Taken<Bytes>>> {
        let pop = lists::pop(server.clone(), "LPOP", self.active.clone(), max);
        let messages = self.pops.take(max, pop).await?;
        Ok(messages.into_iter().map(taken).collect())
    }

    async fn end(
        &self,
        server: &Connection,
        message: &Bytes,
        how: &Disposition,
    ) -> Result<Settled> {
        match how {
            Disposition::Ack | Disposition::AckWith(_) => {}
            Disposition::Bury { .. } => {
                lists::push_one(server, "RPUSH", &self.dead, message).await?;
            }
            Disposition::Release => {
                lists::push_one(server, "LPUSH", &self.active, message).await?;
            }
            Disposition::Retry { delay, .. } | Disposition::Defer { delay } => {
                let due = Due::After(*delay).resolve(server.now());
                let again = message::again(message, due);
                self.push(server, &again, due.as_millis()).await?;
            }
        }
        Ok(settled(how))
    }

    async fn wait(&self, _: &Connection, timeout: Duration) -> Result<()> {
        self.pops.wait(timeout).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        let (mut ready, mut delayed) = (cmd("LLEN"), cmd("ZCARD"));
        ready.arg(&self.active);
        delayed.arg(&self.waiting);
        let counts: Vec<u64> = server.pipeline(vec![ready, delayed]).await?;
        Ok(Depth::new(counts[0], counts[1], 0, 0))
    }
}

/// The id and the body of a list's message; the whole entry if it is no object with a body.
fn read(message: &Bytes) -> (MessageId, Bytes) {
    match TopicMessage::read(message) {
        Some(read) => (read.id, read.body),
        None => (id_of(message), message.clone()),
    }
}

fn taken(message: Bytes) -> Taken<Bytes> {
    let (id, body) = read(&message);
    Taken {
        id,
        attempt: 1,
        priority: None,
        held: message,
        body,
    }
}
