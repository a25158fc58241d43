mod entries;
mod group;
mod held;

use std::time::Duration;

use queue_core::{Condition, Feature, Guarantees, QueueKind, Result};

use self::{entries::Entries, group::Group};
use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    settings::check_time,
};

/// A stream with one consumer group: `XADD`, `XREADGROUP`, `XACK`; entries that are idle too long are claimed by
/// others. This is common practice, not from one of the published articles.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a stream; an entry's field `body` is the body; one that was put back has `first` and `attempts`, too |
/// | `{…}:dead` | a list of bodies that were buried, or spent their attempts |
///
/// It loses nothing. A slow holder may ack an entry that another has claimed (L4). A retry goes to the tail at once, as
/// a new entry (L11). The claimer's lease time decides when an entry is claimed, not the holder's (L1, L7). One old
/// entry keeps its whole node of the stream in memory.
#[derive(Debug, Clone)]
pub struct Stream {
    consumer: String,
    key: Option<String>,
    dead_key: Option<String>,
    poll: Duration,
}

impl Stream {
    /// The strategy for the consumer of this name. The name must be unique to the consumer.
    pub fn consumer(name: impl Into<String>) -> Self {
        Self {
            consumer: name.into(),
            key: None,
            dead_key: None,
            poll: Duration::from_secs(1),
        }
    }

    /// Uses the stream of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The list of dead letters. By default `{jobs}:dead` for the stream `jobs`.
    #[must_use]
    pub fn dead_key(mut self, key: impl Into<String>) -> Self {
        self.dead_key = Some(key.into());
        self
    }

    /// The time between two polls: 1 ms to 7 days, 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }
}

impl Recipe for Stream {
    fn guarantees(&self) -> Guarantees {
        const CLAIMED: &str =
            "an entry is claimed after the time that its claimer asks for, not its holder";
        const CLAIMS_THEN_READS: &str =
            "a lease claims old entries and then reads new ones: others come in between";
        let mut guarantees = declared::leasing("stream", QueueKind::Reliable)
            .caveat("L7", Condition::NoFaults, CLAIMED)
            .caveat(
                "L11",
                Condition::NoFaults,
                "a retry has no delay, and is a new entry",
            )
            .caveat(
                "L6",
                Condition::NoFaults,
                "an entry may be claimed before its first holder has heard of it",
            )
            .caveat("L1", Condition::NoFaults, CLAIMED)
            .caveat("F1", Condition::NoFaults, CLAIMS_THEN_READS)
            .caveat("F2", Condition::NoFaults, CLAIMS_THEN_READS);
        guarantees.lacking.remove(&Feature::Expiry);
        guarantees
    }

    fn check(&self) -> Result<()> {
        check_time("poll", self.poll)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let stream = opening.key(self.key.as_ref());
        let entries = Entries {
            group: Group {
                dead: companion(self.dead_key.as_ref(), &stream, "dead"),
                stream,
                consumer: self.consumer.clone(),
            },
            poll: self.poll,
            max_attempts: opening.max_attempts(),
        };
        opening.shell(self.guarantees(), entries.group.stream.clone(), |_| entries)
    }
}
