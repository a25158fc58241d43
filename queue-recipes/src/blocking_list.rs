use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Condition, Depth, Disposition, Guarantees, Pushed, QueueKind, Result, Settled};
use redis::cmd;

use crate::{
    backend::{OpenTarget, Opened, Recipe},
    declared,
    lists::{self, ListEnds, Places},
    pops::{BlockingPop, Pops},
    server::{Connection, TypedKey},
    settings::check_time,
    strategy::{NewEntry, Strategy, Taken},
};

/// A list: `LPUSH` and `BRPOP`, or [`RPUSH` and `BLPOP`](Self::rpush_blpop). A consumer that dies loses the messages
/// that it was handling.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a list of bodies, the oldest last; with `rpush_blpop`, first |
/// | `{…}:dead` | a list of buried bodies; ours, not published |
///
/// This is the cheapest queue, for work that may be lost. A message is gone from the server as soon as it is handed
/// out: a consumer that crashes or loses the reply loses the message (L5, L8). A retry goes to the tail at once (L11).
/// Foreign producers may push inside `MULTI`.
#[derive(Debug, Clone)]
pub struct BlockingList {
    key: Option<String>,
    dead_key: Option<String>,
    ends: ListEnds,
    timeout: Duration,
}

impl Default for BlockingList {
    fn default() -> Self {
        Self {
            key: None,
            dead_key: None,
            ends: lists::LPUSH_BRPOP,
            timeout: Duration::from_secs(5),
        }
    }
}

impl BlockingList {
    /// Uses the list of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The list of dead letters. By default `{jobs}:dead` for the list `jobs`.
    #[must_use]
    pub fn dead_key(mut self, key: impl Into<String>) -> Self {
        self.dead_key = Some(key.into());
        self
    }

    /// The other direction: producers push on the right, consumers pop on the left.
    #[must_use]
    pub const fn rpush_blpop(mut self) -> Self {
        self.ends = lists::RPUSH_BLPOP;
        self
    }

    /// How long the server blocks a pop: 1 ms to 7 days, 5 s by default.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Recipe for BlockingList {
    fn guarantees(&self) -> Guarantees {
        declared::at_most_once("blocking-list", QueueKind::Reliable)
            .caveat("L11", Condition::NoFaults, "a retry has no delay")
            .caveat("F1", Condition::NoFaults, declared::POPPED_AHEAD)
            .caveat("F2", Condition::NoFaults, declared::POPPED_AHEAD)
    }

    fn check(&self) -> Result<()> {
        check_time("timeout", self.timeout)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let key = opening.key(self.key.as_ref());
        let places = Places {
            ends: self.ends,
            ..Places::of(key, self.dead_key.as_ref())
        };
        let pop = BlockingPop {
            command: cmd(self.ends.blocking_pop).arg(&places.queue).take(),
            longest: self.timeout,
            read: |answer| lists::popped(answer).map(|(_, body)| body),
        };
        opening.shell(self.guarantees(), places.queue.clone(), |server| List {
            places,
            pops: Pops::new(server, pop),
        })
    }
}

#[derive(Debug)]
struct List {
    places: Places,
    pops: Pops<Bytes>,
}

#[async_trait]
impl Strategy for List {
    type Held = Bytes;

    fn keys(&self) -> Vec<TypedKey> {
        vec![
            TypedKey::list(&self.places.queue),
            TypedKey::list(&self.places.dead),
        ]
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.places.dead)
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        lists::push(server, self.places.ends.push, &self.places.queue, entries).await
    }

    async fn take(
        &self,
        server: &Connection,
        max: usize,
        _: Duration,
    ) -> Result<Vec<Taken<Bytes>>> {
        let Places { queue, ends, .. } = &self.places;
        let pop = lists::pop(server.clone(), ends.pop, queue.clone(), max);
        let bodies = self.pops.take(max, pop).await?;
        Ok(bodies.into_iter().map(lists::taken).collect())
    }

    async fn end(&self, server: &Connection, body: &Bytes, how: &Disposition) -> Result<Settled> {
        self.places.end(server, body, how).await
    }

    async fn wait(&self, _: &Connection, timeout: Duration) -> Result<()> {
        self.pops.wait(timeout).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        lists::one_length(server, &self.places.queue).await
    }
}
