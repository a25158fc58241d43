use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Condition, Depth, Guarantees, MessageId, Pushed, QueueKind, Result};
use redis::cmd;

use crate::{
    backend::{OpenTarget, Opened, Recipe},
    declared, lists,
    server::{Connection, TypedKey, id_of},
    settings::check_time,
    strategy::{NewEntry, Strategy, half_done},
};

/// A ring on one list: `RPOPLPUSH` from the list to itself.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a list of bodies, the next one last |
///
/// Use it to visit a few items in turn. Equal bodies are one item that comes more often, and a removal takes any of
/// them (T2, T3). Items have neither keys nor a pace, and a visit of several items is several steps.
#[derive(Debug, Clone)]
pub struct Rotation {
    key: Option<String>,
    poll: Duration,
}

impl Default for Rotation {
    fn default() -> Self {
        Self {
            key: None,
            poll: Duration::from_secs(1),
        }
    }
}

impl Rotation {
    /// Uses the list of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The time between two polls of an empty ring: 1 ms to 7 days, 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }
}

impl Recipe for Rotation {
    fn guarantees(&self) -> Guarantees {
        const SAME: &str = "equal bodies cannot be told apart";
        declared::plain(Guarantees::all("rotation", QueueKind::Rotating))
            .caveat("T2", Condition::EqualBodies, SAME)
            .caveat("T3", Condition::EqualBodies, SAME)
            .caveat(
                "T3",
                Condition::Fault("repeated"),
                "a repeated request visits twice",
            )
            .caveat("T4", Condition::Absent, "it has no pace")
            .caveat(
                "T1",
                Condition::NoFaults,
                "a visit of several items is several steps",
            )
    }

    fn check(&self) -> Result<()> {
        check_time("poll", self.poll)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let (list, poll) = (opening.key(self.key.as_ref()), self.poll);
        opening.shell(self.guarantees(), list.clone(), move |_| Ring {
            list,
            poll,
        })
    }
}

#[derive(Debug)]
struct Ring {
    list: String,
    poll: Duration,
}

#[async_trait]
impl Strategy for Ring {
    type Held = Bytes;

    fn keys(&self) -> Vec<TypedKey> {
        vec![TypedKey::list(&self.list)]
    }

    fn poll(&self) -> Duration {
        self.poll
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        lists::push(server, "LPUSH", &self.list, entries).await
    }

    async fn rotate(&self, server: &Connection, max: usize) -> Result<Vec<Bytes>> {
        let length = self.depth(server).await?.ready;
        let visits = max.min(usize::try_from(length).unwrap_or(max));
        let mut visit = cmd("RPOPLPUSH");
        visit.arg(&self.list).arg(&self.list);
        let items: Vec<Option<Bytes>> = server.pipeline(vec![visit; visits]).await?;
        Ok(items.into_iter().flatten().collect())
    }

    async fn list(&self, server: &Connection, from: usize, most: usize) -> Result<Vec<Bytes>> {
        // The list is stored in reverse order.
        let (first, last) = (from as i64, (from + most) as i64);
        let mut range = cmd("LRANGE");
        range.arg(&self.list).arg(-last).arg(-1 - first);
        let mut items: Vec<Bytes> = server.ask(&range).await?;
        items.reverse();
        Ok(items)
    }

    async fn remove(&self, server: &Connection, ids: &[MessageId]) -> Result<u64> {
        let mut range = cmd("LRANGE");
        range.arg(&self.list).arg(0).arg(-1);
        let items: Vec<Bytes> = server.ask(&range).await?;
        let mut removed = 0;
        let found = ids
            .iter()
            .filter_map(|id| items.iter().find(|item| id_of(item) == *id));
        for (nth, item) in found.enumerate() {
            let mut remove = cmd("LREM");
            remove.arg(&self.list).arg(1).arg(&item[..]);
            let one: Result<u64> = server.ask(&remove).await;
            removed += one.map_err(|error| half_done(nth, error))?;
        }
        Ok(removed)
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        lists::one_length(server, &self.list).await
    }
}
