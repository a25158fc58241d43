//! The processing set: claimed messages, until they are acked or their lease expires.

use std::time::Duration;

use bytes::Bytes;
use queue_core::{Due, Result, Settled, Timestamp, millis_ceil};
use redis::{Value, cmd};

use crate::server::Connection;

/// Moves messages with expired leases back, then due messages into the processing set. Keys: the queue, the processing
/// set; arguments: now, the score of the leases, the most messages, the last score of an expired claim.
const CLAIM: &str = "\
for _, member in ipairs(redis.call('zrangebyscore', KEYS[2], '-inf', ARGV[4], 'limit', 0, 128)) do
  redis.call('zadd', KEYS[1], ARGV[1], member)
  redis.call('zrem', KEYS[2], member)
end
local due = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1], 'limit', 0, ARGV[3])
for _, member in ipairs(due) do
  redis.call('zadd', KEYS[2], ARGV[2], member)
  redis.call('zrem', KEYS[1], member)
end
return due";
/// Moves a message from the processing set back into the queue, or to the dead letters once its retries are used up.
/// Keys: the queue, the processing set, the retries, the dead letters; arguments: the member, its due time, now, 1 if
/// it counts as a retry, the most retries. Returns 0 if the message is not held, 1 if it is back, 2 if it is dead.
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

#[derive(Debug)]
pub(super) struct Processing {
    pub(super) queue: String,
    /// The sorted set of claimed bodies.
    pub(super) claimed: String,
    /// The hash of retries.
    pub(super) retries: String,
    pub(super) dead: String,
    pub(super) max_attempts: u32,
    /// How long a claim lasts from its score on.
    pub(super) claim_timeout: Duration,
}

impl Processing {
    /// The score of a claim that expires at this time.
    fn score(&self, over: Timestamp) -> i64 {
        let timeout = millis_ceil(self.claim_timeout);
        over.as_millis() as i64 - timeout as i64
    }

    pub(super) async fn claim(
        &self,
        server: &Connection,
        max: usize,
        lease_time: Duration,
    ) -> Result<Vec<Bytes>> {
        let now = server.now();
        let until = self.score(Due::After(lease_time).resolve(now));
        let keys = [&*self.queue, &self.claimed];
        let arguments = (now.as_millis(), until, max, self.score(now));
        server.eval(CLAIM, &keys, arguments).await
    }

    /// The retries of a message so far.
    pub(super) async fn retries(&self, server: &Connection, body: &Bytes) -> Result<u32> {
        let mut get = cmd("HGET");
        get.arg(&self.retries).arg(&body[..]);
        let retries: Option<u32> = server.ask(&get).await?;
        Ok(retries.unwrap_or(0))
    }

    pub(super) async fn ack(&self, server: &Connection, body: &Bytes) -> Result<Settled> {
        let remove = cmd("ZREM").arg(&self.claimed).arg(&body[..]).take();
        let forget = cmd("HDEL").arg(&self.retries).arg(&body[..]).take();
        let removed: Vec<u64> = server.pipeline(vec![remove, forget]).await?;
        Ok(match removed[0] {
            0 => Settled::LeaseLost,
            _ => Settled::Done,
        })
    }

    /// Puts a message back with this due time.
    pub(super) async fn put_back(
        &self,
        server: &Connection,
        body: &Bytes,
        due: i64,
        counts: bool,
    ) -> Result<Settled> {
        let most = if counts { self.max_attempts } else { u32::MAX };
        self.end(server, body, due, counts, most).await
    }

    /// Buries a message, as its last retry would.
    pub(super) async fn bury(&self, server: &Connection, body: &Bytes) -> Result<Settled> {
        self.end(server, body, 0, true, 0).await
    }

    async fn end(
        &self,
        server: &Connection,
        body: &Bytes,
        due: i64,
        counts: bool,
        most: u32,
    ) -> Result<Settled> {
        let keys = [&*self.queue, &self.claimed, &self.retries, &self.dead];
        let now = server.now().as_millis();
        let arguments = (&body[..], due, now, u8::from(counts), most);
        Ok(match server.eval(PUT_BACK, &keys, arguments).await? {
            0 => Settled::LeaseLost,
            2 => Settled::Dead,
            _ => Settled::Done,
        })
    }

    /// Sets a lease to end this long from now. Returns true if there is one.
    pub(super) async fn extend(
        &self,
        server: &Connection,
        body: &Bytes,
        lease_time: Duration,
    ) -> Result<bool> {
        let until = self.score(Due::After(lease_time).resolve(server.now()));
        let mut extend = cmd("ZADD");
        extend.arg(&self.claimed).arg("XX").arg("CH");
        extend.arg(until).arg(&body[..]);
        // Setting the same deadline as before counts as no change.
        let held = cmd("ZSCORE").arg(&self.claimed).arg(&body[..]).take();
        let answers: Vec<Value> = server.pipeline(vec![extend, held]).await?;
        Ok(answers.last() != Some(&Value::Nil))
    }

    pub(super) async fn count(&self, server: &Connection) -> Result<u64> {
        server.ask(cmd("ZCARD").arg(&self.claimed)).await
    }
}
