mod distributor;
mod keys;
mod message;
mod topic;

use std::time::Duration;

use queue_core::{Condition, Feature, Guarantees, QueueKind, Result};
use redis::cmd;

use self::{distributor::Distributor, topic::Topic};
use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    lists::popped,
    pops::{BlockingPop, Pops},
    settings::{check_count, check_time},
};

/// The most messages that one step of the distributor may move: the server does nothing else meanwhile.
const LARGEST_BATCH: usize = 1_000_000;

/// A sorted set of waiting messages and a list of active ones for each topic; a distributor moves due messages from the
/// set to the list.
///
/// | key | holds |
/// | --- | --- |
/// | `delay:meta:topic:wait` | a set of the keys of the sorted sets |
/// | `delay:wait:{topic}` | a sorted set of messages (JSON objects) by due time, in ms |
/// | `delay:meta:topic:active` | a set of the keys of the lists |
/// | `delay:active:{topic}` | a list of messages that are due, the oldest first |
/// | `{delay:active:…}:dead` | a list of buried messages; ours, not published |
///
/// The topic is the queue's name; the published default is `default`. A message is an object with the fields `body` (a
/// string), `createTime`, `delayTime`, `id` and `topic`. Reading a message needs only `body`, and an entry that is no
/// such object is delivered whole. Each handle runs the distributor, unless `without_distributor` is set. It moves one
/// message for each topic and tick, as published, or a [`batch`](Self::batch).
///
/// The list's name is the set's name with the first `delay:wait` replaced. Published distributors replace every
/// `delay:wait`, so for a topic with `delay:wait` in its name they use another list: run only this distributor for it.
///
/// A popped message is gone from the server (L5, L8). Messages wait for a tick (D2: one at a time). A push that comes
/// between the distributor's `EXISTS` and `SREM` is forgotten until the next push of its topic (L7).
#[derive(Debug, Clone)]
pub struct WaitActive {
    topic: Option<String>,
    dead_key: Option<String>,
    tick: Duration,
    batch: usize,
    distributes: bool,
    timeout: Duration,
}

impl Default for WaitActive {
    fn default() -> Self {
        Self {
            topic: None,
            dead_key: None,
            tick: Duration::from_secs(5),
            batch: 1,
            distributes: true,
            timeout: Duration::from_secs(5),
        }
    }
}

impl WaitActive {
    /// Uses the topic of this name instead of the queue's name.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// The list of dead letters. By default `{delay:active:jobs}:dead` for the topic `jobs`.
    #[must_use]
    pub fn dead_key(mut self, key: impl Into<String>) -> Self {
        self.dead_key = Some(key.into());
        self
    }

    /// The time between two rounds of the distributor: 1 ms to 7 days, 5 s by default.
    #[must_use]
    pub const fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// The most messages of a topic that one round moves: 1 to a million, 1 by default.
    #[must_use]
    pub const fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }

    /// Leaves the distributor to another process.
    #[must_use]
    pub const fn without_distributor(mut self) -> Self {
        self.distributes = false;
        self
    }

    /// How long the server blocks a pop: 1 ms to 7 days, 5 s by default.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Recipe for WaitActive {
    fn guarantees(&self) -> Guarantees {
        declared::at_most_once("wait-active", QueueKind::Delay)
            .without(Feature::AtOnce)
            .caveat(
                "L7",
                Condition::NoFaults,
                "a push between EXISTS and SREM is forgotten",
            )
            .caveat("D1", Condition::ClockAhead, "clients' clocks decide")
            .caveat(
                "D2",
                Condition::NoFaults,
                "ties go by the bytes of the messages, one a tick",
            )
    }

    fn check(&self) -> Result<()> {
        check_time("tick", self.tick)?;
        check_count("batch", self.batch, LARGEST_BATCH)?;
        check_time("timeout", self.timeout)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let topic = opening.key(self.topic.as_ref());
        let active = keys::active(&topic);
        let pop = BlockingPop {
            command: cmd("BLPOP").arg(&active).take(),
            longest: self.timeout,
            read: |answer| popped(answer).map(|(_, message)| message),
        };
        let dead = companion(self.dead_key.as_ref(), &active, "dead");
        opening.shell(self.guarantees(), active.clone(), move |server| {
            let distributor = Distributor {
                server: server.clone(),
                tick: self.tick,
                batch: self.batch,
            };
            let distributes = self.distributes;
            Topic {
                waiting: keys::waiting(&topic),
                dead,
                pops: Pops::new(server, pop),
                _distributor: distributes
                    .then(|| server.spawn().spawn(Box::pin(distributor.run()))),
                active,
                topic,
            }
        })
    }
}
