use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    Depth, Disposition, Feature, Guarantees, Pushed, QueueKind, Result, Settled, When, millis_ceil,
};
use redis::{Value, cmd};

use super::{
    declared,
    published::{Opened, Place, Recipe},
    server::{Key, Server, id_of, read},
    strategy::{Entry, Strategy, Taken},
};

const GROUP: &str = "queue-kit";
const BODY: &str = "body";
/// Of a message that was put back: the entry that it first was, and the attempts that count.
const FIRST: &str = "first";
const ATTEMPTS: &str = "attempts";

/// Ends an entry and puts its message elsewhere, in one step: the new place first. Keys: the stream, the
/// dead letters; arguments: the group, the entry, the body, the message's first entry, its attempts (or
/// nothing where it is dead), the consumer, and how often it was delivered, by which an old holder hears
/// that it is another's.
const MOVE: &str = "\
local pending = redis.call('xpending', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)[1]
if not pending or pending[2] ~= ARGV[6] or pending[4] ~= tonumber(ARGV[7]) then return 0 end
if ARGV[5] == '' then
  redis.call('rpush', KEYS[2], ARGV[3])
else
  redis.call('xadd', KEYS[1], '*', 'body', ARGV[3], 'first', ARGV[4], 'attempts', ARGV[5])
end
redis.call('xack', KEYS[1], ARGV[1], ARGV[2])
return redis.call('xdel', KEYS[1], ARGV[2])";

/// Sets an entry's idle time to nothing, if it is still this consumer's: a claim of what somebody else
/// has claimed would take it away from them. Keys: the stream; arguments: the group, the entry, the
/// consumer.
const EXTEND: &str = "\
local pending = redis.call('xpending', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)
if #pending == 0 or pending[1][2] ~= ARGV[3] then return 0 end
redis.call('xclaim', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[2], 'IDLE', 0, 'JUSTID')
return 1";

/// A stream with one consumer group: `XADD`, `XREADGROUP`, `XACK`; what idles too long is claimed by
/// others. Common practice, and not one of the published articles.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a stream; an entry's field `body` is the body; one that was put back has `first` and `attempts`, too |
/// | `{name}:dead` | a list of bodies that were buried, or spent their attempts |
///
/// It loses nothing. A slow holder may ack what another has claimed (L4). A retry goes to the tail at
/// once, as a new entry (L11). An entry is claimed after the lease time that the claimer asks for, not
/// its holder (L1, L7). One old entry pins its node of the stream in memory.
#[derive(Debug, Clone)]
pub struct Stream {
    consumer: String,
    key: Option<String>,
    poll: Duration,
}

impl Stream {
    /// The strategy for the consumer of this name, which has to be its own.
    pub fn consumer(name: impl Into<String>) -> Self {
        Self {
            consumer: name.into(),
            key: None,
            poll: Duration::from_secs(1),
        }
    }

    /// The stream of this name, in place of the queue's.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The time between two looks. 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }
}

impl Recipe for Stream {
    fn guarantees(&self) -> Guarantees {
        let mut guarantees = declared::leasing("stream", QueueKind::Reliable)
            .weaker(
                "L4",
                When::Fault("stalled"),
                "a claimed entry is acked by its old holder",
            )
            .weaker(
                "L7",
                When::Alone,
                "an entry is claimed after the time that its claimer asks for, not its holder",
            )
            .weaker(
                "L11",
                When::Alone,
                "a retry has no delay, and is a new entry",
            )
            .weaker(
                "L6",
                When::Alone,
                "an entry may be claimed before its first holder has heard of it",
            )
            .weaker(
                "L1",
                When::Alone,
                "an entry is claimed after the time that its claimer asks for, not its holder",
            );
        guarantees.features.insert(Feature::Expiry);
        guarantees
    }

    fn open<'a>(&'a self, place: Place<'a>) -> Opened<'a> {
        let key = place.key(self.key.as_ref());
        let stream = Entries {
            dead: format!("{key}:dead"),
            key,
            consumer: self.consumer.clone(),
            poll: self.poll,
            max_attempts: place.max_attempts(),
        };
        place.shell(self.guarantees(), |_| stream)
    }
}

#[derive(Debug)]
struct Entries {
    key: String,
    dead: String,
    consumer: String,
    poll: Duration,
    max_attempts: u32,
}

/// An entry's id and its body. The body is missing where the entry was deleted.
type StreamEntry = (String, Option<HashMap<String, Bytes>>);

impl Entries {
    /// Makes the group, and with it the stream.
    async fn create(&self, server: &Server) -> Result<()> {
        let mut create = cmd("XGROUP");
        create
            .arg("CREATE")
            .arg(&self.key)
            .arg(GROUP)
            .arg(0)
            .arg("MKSTREAM");
        match server.ask::<Value>(&create).await {
            Err(error) if !error.to_string().contains("BUSYGROUP") => Err(error),
            _ => Ok(()),
        }
    }

    async fn claim(&self, server: &Server, max: usize, ttl: Duration) -> Result<Vec<StreamEntry>> {
        let mut start = "0-0".to_owned();
        let mut entries = Vec::new();
        loop {
            let mut claim = cmd("XAUTOCLAIM");
            claim.arg(&self.key).arg(GROUP).arg(&self.consumer);
            claim.arg(millis_ceil(ttl)).arg(&start);
            claim.arg("COUNT").arg(max - entries.len());
            let claimed: Vec<Value> = server.ask(&claim).await?;
            let mut claimed = claimed.into_iter();
            start = read(claimed.next().unwrap_or(Value::Nil))?;
            let some: Vec<Option<StreamEntry>> = read(claimed.next().unwrap_or(Value::Nil))?;
            entries.extend(some.into_iter().flatten());
            // The server looks at ten entries for each that it may claim: what is idle may stand
            // behind more than those.
            if start == "0-0" || entries.len() >= max {
                return Ok(entries);
            }
        }
    }

    async fn read_new(&self, server: &Server, max: usize) -> Result<Vec<StreamEntry>> {
        let mut new = cmd("XREADGROUP");
        new.arg("GROUP")
            .arg(GROUP)
            .arg(&self.consumer)
            .arg("COUNT")
            .arg(max);
        new.arg("STREAMS").arg(&self.key).arg(">");
        let streams: Option<HashMap<String, Vec<StreamEntry>>> = server.ask(&new).await?;
        Ok(streams
            .into_iter()
            .flatten()
            .flat_map(|(_, entries)| entries)
            .collect())
    }

    /// How often an entry was delivered.
    async fn attempts(&self, server: &Server, entry: &str) -> Result<u32> {
        let mut pending = cmd("XPENDING");
        pending
            .arg(&self.key)
            .arg(GROUP)
            .arg(entry)
            .arg(entry)
            .arg(1);
        let pending: Vec<(String, String, u64, u32)> = server.ask(&pending).await?;
        Ok(pending.first().map_or(1, |(_, _, _, delivered)| *delivered))
    }

    /// Puts a message back, with the attempts that count; without them it is dead.
    async fn put_elsewhere(
        &self,
        server: &Server,
        held: &Held,
        attempts: Option<u32>,
    ) -> Result<bool> {
        let attempts = attempts.map_or_else(String::new, |attempts| attempts.to_string());
        let entry = (GROUP, &held.entry, &held.body[..], &held.first, attempts);
        let arguments = (entry, &self.consumer, held.delivered);
        server.eval(MOVE, &[&self.key, &self.dead], arguments).await
    }
}

/// A delivered entry.
#[derive(Debug, Clone)]
struct Held {
    entry: String,
    body: Bytes,
    /// The entry that the message first was: its name.
    first: String,
    attempt: u32,
    delivered: u32,
}

impl Held {
    /// An entry that was delivered so often. `None` if it is gone, or has no body.
    fn read((entry, fields): StreamEntry, delivered: u32) -> Option<Self> {
        let mut fields = fields?;
        let text = |bytes: Bytes| String::from_utf8(bytes.into()).ok();
        let before = fields.remove(ATTEMPTS).and_then(text);
        let before: Option<u32> = before.and_then(|before| before.parse().ok());
        Some(Self {
            body: fields.remove(BODY)?,
            first: fields
                .remove(FIRST)
                .and_then(text)
                .unwrap_or_else(|| entry.clone()),
            attempt: before.unwrap_or(0).saturating_add(delivered),
            delivered,
            entry,
        })
    }

    fn taken(self) -> Taken<Self> {
        Taken {
            id: id_of(self.first.as_bytes()),
            body: self.body.clone(),
            attempt: self.attempt,
            held: self,
        }
    }
}

#[async_trait]
impl Strategy for Entries {
    type Held = Held;

    fn keys(&self) -> Vec<Key> {
        vec![Key::new(&self.key, "stream"), Key::list(&self.dead)]
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.dead)
    }

    fn poll(&self) -> Duration {
        self.poll
    }

    async fn prepare(&self, server: &Server) -> Result<()> {
        self.create(server).await
    }

    async fn put(&self, server: &Server, entries: &[Entry<'_>]) -> Result<Vec<Pushed>> {
        let adds = entries.iter().map(|entry| {
            let mut add = cmd("XADD");
            add.arg(&self.key).arg("*").arg(BODY).arg(&entry.body()[..]);
            add
        });
        let ids: Vec<String> = server.pipeline(adds.collect()).await?;
        Ok(ids
            .iter()
            .map(|id| Pushed::Accepted(id_of(id.as_bytes())))
            .collect())
    }

    async fn take(
        &self,
        server: &Server,
        max: usize,
        ttl: Duration,
    ) -> Result<Vec<Taken<Self::Held>>> {
        let claimed = match self.claim(server, max, ttl).await {
            // Somebody emptied the server while this handle was open.
            Err(error) if error.to_string().contains("NOGROUP") => {
                self.create(server).await?;
                Vec::new()
            }
            claimed => claimed?,
        };
        let mut taken = Vec::new();
        for entry in claimed {
            let delivered = self.attempts(server, &entry.0).await?;
            let Some(held) = Held::read(entry, delivered) else {
                continue;
            };
            if held.attempt > self.max_attempts {
                self.put_elsewhere(server, &held, None).await?;
                continue;
            }
            taken.push(held.taken());
        }
        let room = max.saturating_sub(taken.len());
        if room > 0 {
            let new = self.read_new(server, room).await?;
            let new = new.into_iter().filter_map(|entry| Held::read(entry, 1));
            taken.extend(new.map(Held::taken));
        }
        Ok(taken)
    }

    async fn end(&self, server: &Server, held: &Held, how: &Disposition) -> Result<Settled> {
        let dead = match how {
            Disposition::Bury { .. } => true,
            Disposition::Retry { .. } => held.attempt >= self.max_attempts,
            _ => false,
        };
        let ended = match how {
            Disposition::Ack => {
                let (mut ack, mut delete) = (cmd("XACK"), cmd("XDEL"));
                ack.arg(&self.key).arg(GROUP).arg(&held.entry);
                delete.arg(&self.key).arg(&held.entry);
                let ended: Vec<u64> = server.pipeline(vec![ack, delete]).await?;
                ended[0] > 0
            }
            _ if dead => self.put_elsewhere(server, held, None).await?,
            Disposition::Retry { .. } => {
                self.put_elsewhere(server, held, Some(held.attempt)).await?
            }
            _ => {
                let refunded = held.attempt.saturating_sub(1);
                self.put_elsewhere(server, held, Some(refunded)).await?
            }
        };
        Ok(match ended {
            true if dead => Settled::Dead,
            true => Settled::Done,
            false => Settled::LeaseLost,
        })
    }

    async fn extend(&self, server: &Server, held: &Held, _: Duration) -> Result<bool> {
        let arguments = (GROUP, &held.entry, &self.consumer);
        server.eval(EXTEND, &[&self.key], arguments).await
    }

    async fn depth(&self, server: &Server) -> Result<Depth> {
        let (mut all, mut pending) = (cmd("XLEN"), cmd("XPENDING"));
        all.arg(&self.key);
        pending.arg(&self.key).arg(GROUP);
        let answers: Vec<Value> = server.pipeline(vec![all, pending]).await?;
        let mut answers = answers.into_iter();
        let all: u64 = read(answers.next().unwrap_or(Value::Nil))?;
        let pending: Vec<Value> = read(answers.next().unwrap_or(Value::Nil))?;
        let leased: u64 = read(pending.into_iter().next().unwrap_or(Value::Int(0)))?;
        Ok(Depth {
            ready: all.saturating_sub(leased),
            leased,
            ..Depth::default()
        })
    }
}
