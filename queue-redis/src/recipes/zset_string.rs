use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    Depth, Disposition, Due, Error, Guarantees, Pushed, QueueKind, Result, Settled, When,
    millis_ceil,
};
use redis::{Cmd, cmd};

use super::{
    declared, lists,
    published::{Opened, Place, Recipe},
    server::{Key, Server, id_of},
    strategy::{Entry, Strategy, Taken},
};

/// Puts a message back under its key, in one step.
const PUT_BACK: &str = "\
redis.call('set', KEYS[2], ARGV[1])
redis.call('zadd', KEYS[1], ARGV[2], KEYS[2])";

/// A sorted set of keys by push time, and a string for each body. Consumers poll, and claim by `ZREM`.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` (published: `delay_queue`) | a sorted set of the strings' keys, by push time in whole seconds |
/// | `queue_data_{uuid}` | a string, the body |
/// | `{name}:dead` | a list of buried bodies; ours, not published |
///
/// The delay belongs to the consumer ([`previous`](Self::previous)), not to the message. This queue
/// writes any other due time as a push time that much earlier or later, so that foreign consumers
/// with the same `previous` honour it. Whole seconds make a message up to a second early (D1). Ties
/// go by uuid (D2). A claimed message is gone from the server (L5, L8). A producer that dies between
/// its two commands leaves a string behind that nobody removes. Where a body is gone, the published
/// consumer loses its whole batch; this one passes over it.
#[derive(Debug, Clone)]
pub struct ZsetString {
    key: Option<String>,
    prefix: String,
    previous: Duration,
    unit: Duration,
    num: usize,
    poll: Duration,
}

impl Default for ZsetString {
    fn default() -> Self {
        Self {
            key: None,
            prefix: "queue_data".to_owned(),
            previous: Duration::from_secs(3),
            unit: Duration::from_secs(1),
            num: 5,
            poll: Duration::from_secs(1),
        }
    }
}

impl ZsetString {
    /// The sorted set of this name, in place of the queue's.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The beginning of the strings' keys, before `_{uuid}`. `queue_data` by default.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long ago a message was pushed that is due. 3 s by default.
    #[must_use]
    pub const fn previous(mut self, previous: Duration) -> Self {
        self.previous = previous;
        self
    }

    /// The unit of the scores. A second by default.
    #[must_use]
    pub const fn unit(mut self, unit: Duration) -> Self {
        self.unit = unit;
        self
    }

    /// The most messages that one look takes. 5 by default.
    #[must_use]
    pub const fn num(mut self, num: usize) -> Self {
        self.num = num;
        self
    }

    /// The time between two looks. 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }

    /// A time in whole units, rounded down.
    fn units(&self, millis: u64) -> u64 {
        millis / millis_ceil(self.unit).max(1)
    }

    /// The score of a message that is due then.
    fn score(&self, server: &Server, due: Due) -> u64 {
        let now = server.now();
        match due {
            Due::After(delay) if delay == self.previous => self.units(now.as_millis()),
            due => {
                let due = due.resolve(now).as_millis();
                self.units(due.saturating_sub(millis_ceil(self.previous)))
            }
        }
    }

    /// The last score that is due.
    fn until(&self, server: &Server) -> u64 {
        let previous = self.units(millis_ceil(self.previous));
        self.units(server.now().as_millis())
            .saturating_sub(previous)
    }
}

impl Recipe for ZsetString {
    fn guarantees(&self) -> Guarantees {
        declared::at_most_once("zset-string", QueueKind::Delay)
            .weaker(
                "L8",
                When::Fault("cancelled"),
                "who is dropped between claim and read loses it",
            )
            .weaker(
                "D1",
                When::Alone,
                "whole seconds are rounded down on both sides",
            )
            .weaker("D1", When::ClockAhead, "clients' clocks decide")
            .weaker("D2", When::Alone, "ties go by uuid")
    }

    fn open<'a>(&'a self, place: Place<'a>) -> Opened<'a> {
        if self.num == 0 {
            let error = "a num of 0 would never take anything: at least 1";
            return place.refuse(Error::invalid(error));
        }
        let key = place.key(self.key.as_ref());
        let zset = Zset {
            dead: format!("{key}:dead"),
            key,
            recipe: self.clone(),
        };
        place.shell(self.guarantees(), |_| zset)
    }
}

#[derive(Debug)]
struct Zset {
    key: String,
    dead: String,
    recipe: ZsetString,
}

#[async_trait]
impl Strategy for Zset {
    /// The string's key, and the body that was in it.
    type Held = (String, Bytes);

    fn keys(&self) -> Vec<Key> {
        vec![Key::zset(&self.key), Key::list(&self.dead)]
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.dead)
    }

    fn poll(&self) -> Duration {
        self.recipe.poll
    }

    async fn put(&self, server: &Server, entries: &[Entry<'_>]) -> Result<Vec<Pushed>> {
        let mut commands = Vec::with_capacity(2 * entries.len());
        let mut put = Vec::with_capacity(entries.len());
        for entry in entries {
            let key = format!("{}_{}", self.recipe.prefix, server.uuid());
            commands.push(with(cmd("SET"), &[key.as_bytes(), entry.body()]));
            let score = self.recipe.score(server, entry.due).to_string();
            let add = [self.key.as_bytes(), score.as_bytes(), key.as_bytes()];
            commands.push(with(cmd("ZADD"), &add));
            put.push(Pushed::Accepted(id_of(key.as_bytes())));
        }
        let _answers: Vec<redis::Value> = server.pipeline(commands).await?;
        Ok(put)
    }

    async fn take(
        &self,
        server: &Server,
        max: usize,
        _: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        let mut look = cmd("ZRANGEBYSCORE");
        look.arg(&self.key).arg(0).arg(self.recipe.until(server));
        look.arg("LIMIT").arg(0).arg(max.min(self.recipe.num));
        let seen: Vec<String> = server.ask(&look).await?;
        let claims = seen.iter();
        let claims = claims.map(|key| with(cmd("ZREM"), &[self.key.as_bytes(), key.as_bytes()]));
        let claimed: Vec<u64> = server.pipeline(claims.collect()).await?;
        let ours = seen.into_iter().zip(claimed);
        let ours: Vec<String> = ours.filter(|(_, n)| *n == 1).map(|(key, _)| key).collect();
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
                held: (key, body.clone()),
                body,
            })
        });
        Ok(taken.collect())
    }

    async fn end(
        &self,
        server: &Server,
        (key, body): &(String, Bytes),
        how: &Disposition,
    ) -> Result<Settled> {
        let delay = match how {
            Disposition::Ack => return Ok(Settled::Done),
            Disposition::Bury { .. } => {
                let _length: u64 = server
                    .ask(cmd("RPUSH").arg(&self.dead).arg(&body[..]))
                    .await?;
                return Ok(Settled::Dead);
            }
            Disposition::Retry { delay } | Disposition::Defer { delay } => *delay,
            Disposition::Release => Duration::ZERO,
        };
        let score = self.recipe.score(server, Due::After(delay));
        let () = server
            .eval(PUT_BACK, &[&self.key, key], (&body[..], score))
            .await?;
        Ok(lists::settled(how))
    }

    async fn depth(&self, server: &Server) -> Result<Depth> {
        zset_depth(server, &self.key, self.recipe.until(server)).await
    }
}

/// A command with arguments of bytes.
fn with(mut command: Cmd, arguments: &[&[u8]]) -> Cmd {
    for argument in arguments {
        command.arg(*argument);
    }
    command
}

/// The depth of a sorted set whose scores up to `until` are due.
pub(super) async fn zset_depth(server: &Server, key: &str, until: u64) -> Result<Depth> {
    let (mut due, mut all) = (cmd("ZCOUNT"), cmd("ZCARD"));
    due.arg(key).arg("-inf").arg(until);
    all.arg(key);
    let counts: Vec<u64> = server.pipeline(vec![due, all]).await?;
    Ok(Depth {
        ready: counts[0],
        delayed: counts[1].saturating_sub(counts[0]),
        ..Depth::default()
    })
}
