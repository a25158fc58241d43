use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    DeadLetter, Depth, Disposition, Due, Guarantees, Pushed, QueueKind, Result, Settled, Timestamp,
    When,
};
use redis::cmd;

use super::{
    declared,
    lists::accepted,
    published::{Opened, Place, Recipe},
    server::{Key, Server, id_of},
    strategy::{Entry, Strategy, Taken, buried},
    zset_string::zset_depth,
};

/// Moves what is past its lease back, then what is due into the processing set. Keys: the queue, the
/// processing set; arguments: now, the deadline of the leases, the most messages.
const CLAIM: &str = "\
for _, member in ipairs(redis.call('zrangebyscore', KEYS[2], 0, ARGV[1], 'limit', 0, 128)) do
  redis.call('zadd', KEYS[1], ARGV[1], member)
  redis.call('zrem', KEYS[2], member)
end
local due = redis.call('zrangebyscore', KEYS[1], 0, ARGV[1], 'limit', 0, ARGV[3])
for _, member in ipairs(due) do
  redis.call('zadd', KEYS[2], ARGV[2], member)
  redis.call('zrem', KEYS[1], member)
end
return due";
/// Puts what is in the processing set back into the queue, or into the dead ones once its retries are
/// spent. Keys: the queue, the processing set, the retries, the dead; arguments: the member, its due
/// time, now, 1 where it counts as a retry, the most retries. Answers 0 for what is not held, 1 for
/// what is back, 2 for what is dead.
const PUT_BACK: &str = "\
if not redis.call('zscore', KEYS[2], ARGV[1]) then return 0 end
if ARGV[4] == '1' and redis.call('hincrby', KEYS[3], ARGV[1], 1) >= tonumber(ARGV[5]) then
  redis.call('zadd', KEYS[4], ARGV[3], ARGV[1])
  redis.call('hdel', KEYS[3], ARGV[1])
  redis.call('zrem', KEYS[2], ARGV[1])
  return 2
end
redis.call('zadd', KEYS[1], ARGV[2], ARGV[1])
redis.call('zrem', KEYS[2], ARGV[1])
return 1";

/// A sorted set of bodies by due time. Consumers poll, and claim by `ZREM`.
///
/// | key | holds |
/// | --- | --- |
/// | `delay_queue:{name}` | a sorted set of bodies by due time, in ms |
/// | `processing_queue:{name}` | with [`with_processing`](Self::with_processing): a sorted set of claimed bodies, by the end of their leases |
/// | `retry_count:{name}` | a hash of retries by body |
/// | `dead_letter_queue:{name}` | a sorted set of dead bodies, by time of death |
/// | `consumed:{name}` | with [`once_by`](Self::once_by): a set of the values that were acked; it never shrinks |
///
/// The last three names are ours. Equal bodies are one message: the second push moves the first (D3,
/// L5). Plain, a claimed message is gone from the server (L5, L8). With processing it is not: leases
/// expire, and a retry beyond the attempts of the configuration dies. But whoever knows a body may end
/// its lease (L4), and the dead letters have no cap (L13). Clients' clocks decide what is due (D1).
#[derive(Debug, Clone)]
pub struct ZsetJson {
    processing: bool,
    priority: bool,
    once_by: Option<String>,
    poll: Duration,
}

impl Default for ZsetJson {
    fn default() -> Self {
        Self {
            processing: false,
            priority: false,
            once_by: None,
            poll: Duration::from_secs(1),
        }
    }
}

impl ZsetJson {
    /// Keeps claimed messages in a second sorted set, until they are acked or their lease is over.
    #[must_use]
    pub const fn with_processing(mut self) -> Self {
        self.processing = true;
        self
    }

    /// Scores a message by its due time less its priority, in ms: the number in the field `priority`
    /// of its JSON. So an urgent message comes before it is due (D1).
    #[must_use]
    pub const fn with_priority(mut self) -> Self {
        self.priority = true;
        self
    }

    /// Delivers no message whose JSON has a value in this field that was acked before.
    #[must_use]
    pub fn once_by(mut self, field: impl Into<String>) -> Self {
        self.once_by = Some(field.into());
        self
    }

    /// The time between two looks. 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }
}

impl Recipe for ZsetJson {
    fn guarantees(&self) -> Guarantees {
        const OLD: &str = "an old holder's removal removes the new holder's entry";
        const SAME: &str = "the second push of a body moves the first";
        let mut guarantees = if self.processing {
            let mut kept = declared::leasing(
                match self.priority {
                    true => "zset-json with processing and priority",
                    false => "zset-json with processing",
                },
                QueueKind::Delay,
            )
            .weaker("L1", When::Alone, OLD)
            .weaker("L6", When::Alone, "an expired lease charges no attempt");
            kept.features.insert(queue_core::Feature::Expiry);
            kept
        } else {
            let name = match self.priority {
                true => "zset-json with priority",
                false => "zset-json",
            };
            declared::at_most_once(name, QueueKind::Delay)
                .weaker("L5", When::EqualBodies, SAME)
                .weaker(
                    "L8",
                    When::Fault("cancelled"),
                    "who is dropped after its claim loses it",
                )
        };
        guarantees = guarantees
            .weaker("D3", When::EqualBodies, SAME)
            .weaker("D1", When::ClockAhead, "clients' clocks decide")
            .weaker("D2", When::Alone, "ties go by the bytes of the bodies");
        match self.priority {
            true => guarantees.weaker("D1", When::Alone, "priority counts as time"),
            false => guarantees,
        }
    }

    fn open<'a>(&'a self, place: Place<'a>) -> Opened<'a> {
        let name = place.key(None);
        let zset = Zset {
            queue: format!("delay_queue:{name}"),
            processing: format!("processing_queue:{name}"),
            retries: format!("retry_count:{name}"),
            dead: format!("dead_letter_queue:{name}"),
            consumed: format!("consumed:{name}"),
            max_attempts: place.max_attempts(),
            recipe: self.clone(),
        };
        place.shell(self.guarantees(), |_| zset)
    }
}

#[derive(Debug)]
struct Zset {
    queue: String,
    processing: String,
    retries: String,
    dead: String,
    consumed: String,
    max_attempts: u32,
    recipe: ZsetJson,
}

impl Zset {
    fn score(&self, server: &Server, due: Due, body: &Bytes) -> i64 {
        let due = due.resolve(server.now()).as_millis();
        let due = i64::try_from(due).unwrap_or(i64::MAX);
        let urgent = match self.recipe.priority {
            true => field(body, "priority")
                .and_then(|value| value.as_i64())
                .unwrap_or(0),
            false => 0,
        };
        due.saturating_sub(urgent)
    }

    async fn claim(&self, server: &Server, max: usize, ttl: Duration) -> Result<Vec<Bytes>> {
        let now = server.now().as_millis();
        if self.recipe.processing {
            let until = Due::After(ttl).resolve(server.now()).as_millis();
            let keys = [&*self.queue, &self.processing];
            return server.eval(CLAIM, &keys, (now, until, max)).await;
        }
        let mut look = cmd("ZRANGEBYSCORE");
        look.arg(&self.queue)
            .arg(0)
            .arg(now)
            .arg("LIMIT")
            .arg(0)
            .arg(max);
        let seen: Vec<Bytes> = server.ask(&look).await?;
        let claims = seen.iter().map(|body| {
            let mut claim = cmd("ZREM");
            claim.arg(&self.queue).arg(&body[..]);
            claim
        });
        let claimed: Vec<u64> = server.pipeline(claims.collect()).await?;
        let ours = seen.into_iter().zip(claimed);
        Ok(ours
            .filter(|(_, n)| *n == 1)
            .map(|(body, _)| body)
            .collect())
    }

    /// The value that says whether a message was consumed before.
    fn once_key(&self, body: &Bytes) -> Option<String> {
        let value = field(body, self.recipe.once_by.as_ref()?)?;
        match value {
            // As good as missing, or all messages without a value would be one.
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    }

    async fn is_consumed(&self, server: &Server, body: &Bytes) -> Result<bool> {
        match self.once_key(body) {
            Some(key) => {
                server
                    .ask(cmd("SISMEMBER").arg(&self.consumed).arg(key))
                    .await
            }
            None => Ok(false),
        }
    }

    async fn ack(&self, server: &Server, body: &Bytes) -> Result<Settled> {
        if let Some(key) = self.once_key(body) {
            let _added: u64 = server.ask(cmd("SADD").arg(&self.consumed).arg(key)).await?;
        }
        if !self.recipe.processing {
            return Ok(Settled::Done);
        }
        let (mut remove, mut forget) = (cmd("ZREM"), cmd("HDEL"));
        remove.arg(&self.processing).arg(&body[..]);
        forget.arg(&self.retries).arg(&body[..]);
        let removed: Vec<u64> = server.pipeline(vec![remove, forget]).await?;
        Ok(match removed[0] {
            0 => Settled::LeaseLost,
            _ => Settled::Done,
        })
    }

    /// Puts a message back, due after the delay.
    async fn put_back(
        &self,
        server: &Server,
        body: &Bytes,
        delay: Duration,
        counts: bool,
    ) -> Result<Settled> {
        let due = self.score(server, Due::After(delay), body);
        if !self.recipe.processing {
            let mut add = cmd("ZADD");
            add.arg(&self.queue).arg(due).arg(&body[..]);
            let _added: u64 = server.ask(&add).await?;
            return Ok(Settled::Done);
        }
        let keys = [&*self.queue, &self.processing, &self.retries, &self.dead];
        let now = server.now().as_millis();
        let most = if counts { self.max_attempts } else { u32::MAX };
        let arguments = (&body[..], due, now, u8::from(counts), most);
        Ok(match server.eval(PUT_BACK, &keys, arguments).await? {
            0 => Settled::LeaseLost,
            2 => Settled::Dead,
            _ => Settled::Done,
        })
    }

    /// Buries a message: as its last retry.
    async fn bury(&self, server: &Server, body: &Bytes) -> Result<Settled> {
        let now = server.now().as_millis();
        if !self.recipe.processing {
            let mut add = cmd("ZADD");
            add.arg(&self.dead).arg(now).arg(&body[..]);
            let _added: u64 = server.ask(&add).await?;
            return Ok(Settled::Dead);
        }
        let keys = [&*self.queue, &self.processing, &self.retries, &self.dead];
        Ok(
            match server
                .eval(PUT_BACK, &keys, (&body[..], 0, now, 1, 0))
                .await?
            {
                0 => Settled::LeaseLost,
                _ => Settled::Dead,
            },
        )
    }
}

#[async_trait]
impl Strategy for Zset {
    type Held = Bytes;

    fn keys(&self) -> Vec<Key> {
        let sets = [&self.queue, &self.processing, &self.dead];
        let others = [Key::new(&self.retries, "hash"), Key::set(&self.consumed)];
        sets.into_iter().map(Key::zset).chain(others).collect()
    }

    /// In the order of their deaths.
    async fn dead_letters(
        &self,
        server: &Server,
        from: usize,
        most: usize,
    ) -> Result<Vec<DeadLetter>> {
        let mut range = cmd("ZRANGE");
        range.arg(&self.dead).arg(from).arg(from + most - 1);
        let dead: Vec<(Bytes, f64)> = server.ask(range.arg("WITHSCORES")).await?;
        let dead = dead.into_iter().map(|(body, died_at)| DeadLetter {
            died_at: Timestamp::from_millis(died_at as u64),
            ..buried(id_of(&body), body)
        });
        Ok(dead.collect())
    }

    fn poll(&self) -> Duration {
        self.recipe.poll
    }

    async fn put(&self, server: &Server, entries: &[Entry<'_>]) -> Result<Vec<Pushed>> {
        let mut add = cmd("ZADD");
        add.arg(&self.queue);
        for entry in entries {
            let score = self.score(server, entry.due, entry.body());
            add.arg(score).arg(&entry.body()[..]);
        }
        let _added: u64 = server.ask(&add).await?;
        Ok(accepted(entries))
    }

    async fn take(&self, server: &Server, max: usize, ttl: Duration) -> Result<Vec<Taken<Bytes>>> {
        let mut taken = Vec::new();
        for body in self.claim(server, max, ttl).await? {
            if self.is_consumed(server, &body).await? {
                self.ack(server, &body).await?;
                continue;
            }
            let retries: Option<u32> = match self.recipe.processing {
                true => {
                    server
                        .ask(cmd("HGET").arg(&self.retries).arg(&body[..]))
                        .await?
                }
                false => None,
            };
            taken.push(Taken {
                id: id_of(&body),
                attempt: retries.unwrap_or(0) + 1,
                held: body.clone(),
                body,
            });
        }
        Ok(taken)
    }

    async fn end(&self, server: &Server, body: &Bytes, how: &Disposition) -> Result<Settled> {
        match how {
            Disposition::Ack => self.ack(server, body).await,
            Disposition::Retry { delay } => self.put_back(server, body, *delay, true).await,
            Disposition::Defer { delay } => self.put_back(server, body, *delay, false).await,
            Disposition::Release => self.put_back(server, body, Duration::ZERO, false).await,
            Disposition::Bury { .. } => self.bury(server, body).await,
        }
    }

    async fn extend(&self, server: &Server, body: &Bytes, ttl: Duration) -> Result<bool> {
        if !self.recipe.processing {
            return Ok(true);
        }
        let until = Due::After(ttl).resolve(server.now()).as_millis();
        let mut extend = cmd("ZADD");
        extend
            .arg(&self.processing)
            .arg("XX")
            .arg("CH")
            .arg(until)
            .arg(&body[..]);
        // A deadline that is the same as before is no change.
        let mut held = cmd("ZSCORE");
        held.arg(&self.processing).arg(&body[..]);
        let answers: Vec<redis::Value> = server.pipeline(vec![extend, held]).await?;
        Ok(answers.last() != Some(&redis::Value::Nil))
    }

    async fn depth(&self, server: &Server) -> Result<Depth> {
        let mut depth = zset_depth(server, &self.queue, server.now().as_millis()).await?;
        depth.dead = server.ask(cmd("ZCARD").arg(&self.dead)).await?;
        if self.recipe.processing {
            depth.leased = server.ask(cmd("ZCARD").arg(&self.processing)).await?;
        }
        Ok(depth)
    }
}

/// A field of a JSON object.
fn field(body: &Bytes, name: &str) -> Option<serde_json::Value> {
    let mut object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(body).ok()?;
    object.remove(name)
}
