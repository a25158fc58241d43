//! The stream and its consumer group: the commands.

use std::{collections::HashMap, time::Duration};

use queue_core::{Depth, Result, millis_ceil};
use redis::{Value, cmd};

use super::held::{BODY, ClaimedEntry, StreamEntry};
use crate::{
    server::{Connection, read},
    strategy::NewEntry,
};

const GROUP: &str = "queue-kit";

/// Ends an entry and adds its message elsewhere, in one step, adding it first. Keys: the stream, the dead letters;
/// arguments: the group, the entry, the body, the message's first entry, its attempts (empty if it is dead), the
/// consumer, its delivery count. The count shows an old holder that the entry belongs to another now.
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

/// Resets an entry's idle time, if it still belongs to this consumer: a claim would take the entry away from a consumer
/// that has claimed it. Keys: the stream; arguments: the group, the entry, the consumer.
const EXTEND: &str = "\
local pending = redis.call('xpending', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)
if #pending == 0 or pending[1][2] ~= ARGV[3] then return 0 end
redis.call('xclaim', KEYS[1], ARGV[1], ARGV[3], 0, ARGV[2], 'IDLE', 0, 'JUSTID')
return 1";

#[derive(Debug)]
pub(super) struct Group {
    pub(super) stream: String,
    /// The list of dead letters.
    pub(super) dead: String,
    pub(super) consumer: String,
}

impl Group {
    /// Creates the group, and with it the stream.
    pub(super) async fn create(&self, server: &Connection) -> Result<()> {
        let mut create = cmd("XGROUP");
        create
            .arg("CREATE")
            .arg(&self.stream)
            .arg(GROUP)
            .arg(0)
            .arg("MKSTREAM");
        match server.ask::<Value>(&create).await {
            Err(error) if !error.to_string().contains("BUSYGROUP") => Err(error),
            _ => Ok(()),
        }
    }

    /// Adds entries. Returns their ids.
    pub(super) async fn add(
        &self,
        server: &Connection,
        entries: &[NewEntry<'_>],
    ) -> Result<Vec<String>> {
        let adds = entries.iter().map(|entry| {
            let mut add = cmd("XADD");
            add.arg(&self.stream).arg("*");
            add.arg(BODY).arg(&entry.body()[..]);
            add
        });
        server.pipeline(adds.collect()).await
    }

    /// Takes over entries that were idle for at least this time.
    pub(super) async fn claim(
        &self,
        server: &Connection,
        max: usize,
        lease_time: Duration,
    ) -> Result<Vec<StreamEntry>> {
        let mut start = "0-0".to_owned();
        let mut entries = Vec::new();
        loop {
            let mut claim = cmd("XAUTOCLAIM");
            claim.arg(&self.stream).arg(GROUP).arg(&self.consumer);
            claim.arg(millis_ceil(lease_time)).arg(&start);
            claim.arg("COUNT").arg(max - entries.len());
            let claimed: Vec<Value> = server.ask(&claim).await?;
            let mut claimed = claimed.into_iter();
            start = read(claimed.next().unwrap_or(Value::Nil))?;
            let some: Vec<Option<StreamEntry>> = read(claimed.next().unwrap_or(Value::Nil))?;
            entries.extend(some.into_iter().flatten());
            // The server looks at ten entries for each one that it may claim, so idle entries may be behind more than
            // those.
            if start == "0-0" || entries.len() >= max {
                return Ok(entries);
            }
        }
    }

    /// Reads entries that no consumer has read.
    pub(super) async fn read_new(
        &self,
        server: &Connection,
        max: usize,
    ) -> Result<Vec<StreamEntry>> {
        let mut new = cmd("XREADGROUP");
        new.arg("GROUP")
            .arg(GROUP)
            .arg(&self.consumer)
            .arg("COUNT")
            .arg(max);
        new.arg("STREAMS").arg(&self.stream).arg(">");
        let streams: Option<HashMap<String, Vec<StreamEntry>>> = server.ask(&new).await?;
        Ok(streams
            .into_iter()
            .flatten()
            .flat_map(|(_, entries)| entries)
            .collect())
    }

    /// How often an entry was delivered.
    pub(super) async fn attempts(&self, server: &Connection, entry: &str) -> Result<u32> {
        let mut pending = cmd("XPENDING");
        pending
            .arg(&self.stream)
            .arg(GROUP)
            .arg(entry)
            .arg(entry)
            .arg(1);
        let pending: Vec<(String, String, u64, u32)> = server.ask(&pending).await?;
        Ok(pending.first().map_or(1, |(_, _, _, delivered)| *delivered))
    }

    /// Puts a message back with its attempts; without attempts it is dead.
    pub(super) async fn put_elsewhere(
        &self,
        server: &Connection,
        held: &ClaimedEntry,
        attempts: Option<u32>,
    ) -> Result<bool> {
        let attempts = attempts.map_or_else(String::new, |attempts| attempts.to_string());
        let entry = (GROUP, &held.entry, &held.body[..], &held.first, attempts);
        let arguments = (entry, &self.consumer, held.delivered);
        server
            .eval(MOVE, &[&self.stream, &self.dead], arguments)
            .await
    }

    /// Ends an entry. Returns true if it was pending.
    pub(super) async fn ack(&self, server: &Connection, held: &ClaimedEntry) -> Result<bool> {
        let (mut ack, mut delete) = (cmd("XACK"), cmd("XDEL"));
        ack.arg(&self.stream).arg(GROUP).arg(&held.entry);
        delete.arg(&self.stream).arg(&held.entry);
        let ended: Vec<u64> = server.pipeline(vec![ack, delete]).await?;
        Ok(ended[0] > 0)
    }

    /// Restarts an entry's idle time. Returns true if the entry still belongs to this consumer.
    pub(super) async fn extend(&self, server: &Connection, held: &ClaimedEntry) -> Result<bool> {
        let arguments = (GROUP, &held.entry, &self.consumer);
        server.eval(EXTEND, &[&self.stream], arguments).await
    }

    pub(super) async fn depth(&self, server: &Connection) -> Result<Depth> {
        let (mut all, mut pending) = (cmd("XLEN"), cmd("XPENDING"));
        all.arg(&self.stream);
        pending.arg(&self.stream).arg(GROUP);
        let answers: Vec<Value> = server.pipeline(vec![all, pending]).await?;
        let mut answers = answers.into_iter();
        let all: u64 = read(answers.next().unwrap_or(Value::Nil))?;
        let pending: Vec<Value> = read(answers.next().unwrap_or(Value::Nil))?;
        let leased: u64 = read(pending.into_iter().next().unwrap_or(Value::Int(0)))?;
        Ok(Depth::new(all.saturating_sub(leased), 0, leased, 0))
    }
}
