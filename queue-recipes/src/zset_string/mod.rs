mod zset;

use std::time::Duration;

use queue_core::{Condition, Guarantees, QueueKind, Result};

use self::zset::Zset;
use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    settings::{check_count, check_delay, check_time},
};

/// A sorted set of keys by push time, and a string for each body. Consumers poll, and claim by `ZREM`.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` (published: `delay_queue`) | a sorted set of the strings' keys, by push time in whole seconds |
/// | `queue_data_{uuid}` | a string, the body |
/// | `{…}:dead` | a list of buried bodies; ours, not published |
///
/// The delay belongs to the consumer ([`previous`](Self::previous)), not to the message. This queue writes any other
/// due time as an earlier or later push time, so that foreign consumers with the same `previous` honour it. Because of
/// whole seconds, a message may be up to a second early (D1). Ties are ordered by uuid (D2). A claimed message is gone
/// from the server (L5, L8). A producer that dies between its two commands leaves a string behind that nobody removes.
/// If a body is gone, the published consumer loses its whole batch; this one skips the message.
#[derive(Debug, Clone)]
pub struct ZsetString {
    key: Option<String>,
    dead_key: Option<String>,
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
            dead_key: None,
            prefix: "queue_data".to_owned(),
            previous: Duration::from_secs(3),
            unit: Duration::from_secs(1),
            num: 5,
            poll: Duration::from_secs(1),
        }
    }
}

impl ZsetString {
    /// Uses the sorted set of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The list of dead letters. By default `{jobs}:dead` for the sorted set `jobs`.
    #[must_use]
    pub fn dead_key(mut self, key: impl Into<String>) -> Self {
        self.dead_key = Some(key.into());
        self
    }

    /// The beginning of the strings' keys, before `_{uuid}`. `queue_data` by default.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// How long after its push a message is due: up to ten years, 3 s by default.
    #[must_use]
    pub const fn previous(mut self, previous: Duration) -> Self {
        self.previous = previous;
        self
    }

    /// The unit of the scores, in whole milliseconds: 1 ms to 7 days, a second by default.
    #[must_use]
    pub const fn unit(mut self, unit: Duration) -> Self {
        self.unit = unit;
        self
    }

    /// The most messages that one poll takes: at least 1, 5 by default.
    #[must_use]
    pub const fn num(mut self, num: usize) -> Self {
        self.num = num;
        self
    }

    /// The time between two polls: 1 ms to 7 days, 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }
}

impl Recipe for ZsetString {
    fn guarantees(&self) -> Guarantees {
        declared::at_most_once("zset-string", QueueKind::Delay)
            .caveat(
                "L8",
                Condition::Fault("cancelled"),
                "who is dropped between claim and read loses it",
            )
            .caveat(
                "L8",
                Condition::Fault("request lost"),
                "who claims a key and cannot read its body loses it",
            )
            .caveat(
                "D1",
                Condition::NoFaults,
                "whole seconds are rounded down on both sides",
            )
            .caveat("D1", Condition::ClockAhead, "clients' clocks decide")
            .caveat("D2", Condition::NoFaults, "ties go by uuid")
    }

    fn check(&self) -> Result<()> {
        check_delay("previous", self.previous)?;
        check_time("unit", self.unit)?;
        check_count("num", self.num, usize::MAX)?;
        check_time("poll", self.poll)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let key = opening.key(self.key.as_ref());
        let zset = Zset {
            dead: companion(self.dead_key.as_ref(), &key, "dead"),
            key,
            recipe: self.clone(),
        };
        opening.shell(self.guarantees(), zset.key.clone(), |_| zset)
    }
}
