mod fields;
mod processing;
mod zset;

use std::time::Duration;

use queue_core::{Condition, Feature, Guarantees, QueueKind, Result};

use self::{processing::Processing, zset::Zset};
use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    settings::{check_time, check_time_or_none},
};

/// A sorted set of bodies by due time. Consumers poll, and claim by `ZREM`.
///
/// | key | holds |
/// | --- | --- |
/// | `delay_queue:{name}` | a sorted set of bodies by due time, in ms |
/// | `processing_queue:{name}` | with [`with_processing`](Self::with_processing): a sorted set of claimed bodies, by the end of their leases, or as [`claim_timeout`](Self::claim_timeout) says |
/// | `{delay_queue:…}:retries` | with processing: a hash of retries by body |
/// | `{delay_queue:…}:dead` | a sorted set of dead bodies, by time of death |
/// | `{delay_queue:…}:consumed` | with [`once_by`](Self::once_by): a set of acked values, as JSON; it never shrinks |
///
/// The last three names are ours. Equal bodies are one message: the second push moves the first (D3, L5). Without
/// processing, a claimed message is gone from the server (L5, L8). With processing it stays: leases expire, and a
/// message retried beyond the configured attempts dies. But any client that knows a body may end its lease (L4), and
/// the dead letters have no cap (L13). Clients' clocks decide what is due (D1).
#[derive(Debug, Clone)]
pub struct ZsetJson {
    key: Option<String>,
    processing_key: Option<String>,
    retries_key: Option<String>,
    dead_key: Option<String>,
    consumed_key: Option<String>,
    processing: bool,
    claim_timeout: Duration,
    priority: bool,
    once_by: Option<String>,
    poll: Duration,
}

impl Default for ZsetJson {
    fn default() -> Self {
        Self {
            key: None,
            processing_key: None,
            retries_key: None,
            dead_key: None,
            consumed_key: None,
            processing: false,
            claim_timeout: Duration::ZERO,
            priority: false,
            once_by: None,
            poll: Duration::from_secs(1),
        }
    }
}

impl ZsetJson {
    /// Uses this sorted set instead of `delay_queue:{name}`. The companions' names follow it.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Uses this sorted set of claimed bodies instead of `processing_queue:{name}`.
    #[must_use]
    pub fn processing_key(mut self, key: impl Into<String>) -> Self {
        self.processing_key = Some(key.into());
        self
    }

    /// The hash of retries. By default `{delay_queue:mails}:retries` for the queue `mails`.
    #[must_use]
    pub fn retries_key(mut self, key: impl Into<String>) -> Self {
        self.retries_key = Some(key.into());
        self
    }

    /// The sorted set of dead letters. By default `{delay_queue:mails}:dead` for the queue `mails`.
    #[must_use]
    pub fn dead_key(mut self, key: impl Into<String>) -> Self {
        self.dead_key = Some(key.into());
        self
    }

    /// The set of consumed values. By default `{delay_queue:mails}:consumed` for the queue `mails`.
    #[must_use]
    pub fn consumed_key(mut self, key: impl Into<String>) -> Self {
        self.consumed_key = Some(key.into());
        self
    }

    /// Keeps claimed messages in a second sorted set until they are acked or their lease expires.
    #[must_use]
    pub const fn with_processing(mut self) -> Self {
        self.processing = true;
        self
    }

    /// How long a claim lasts if its score is the time of the claim: up to 7 days. By default zero, so that a score is
    /// the end of a lease.
    ///
    /// Other programs may score a claim by the time when they made it. Without this setting such a claim seems expired
    /// at once, and its message goes to another consumer while they still work on it. With it, a claim expires this
    /// long after its score. Set it to the time after which the other programs give up a claim. A lease of this queue
    /// still lasts as long as its caller asks: its score is adjusted by this time.
    #[must_use]
    pub const fn claim_timeout(mut self, timeout: Duration) -> Self {
        self.claim_timeout = timeout;
        self
    }

    /// Scores a message by its due time less its priority, in ms: the number in the field `priority`
    /// of its JSON, without a fraction. So an urgent message comes before it is due (D1). Any
    /// other value counts as 0, and no score is below 0.
    #[must_use]
    pub const fn with_priority(mut self) -> Self {
        self.priority = true;
        self
    }

    /// Delivers no message whose JSON has a value in this field that was acked before.
    ///
    /// Numbers are equal if their exact decimal values are equal: `1` and `1.0` are one value, while numbers that
    /// differ only beyond a float's precision are two. `1` and `"1"` are two. Strings are equal by their characters;
    /// arrays and objects, and numbers with a power of ten beyond 64 bits, by their text. Null is no value.
    #[must_use]
    pub fn once_by(mut self, field: impl Into<String>) -> Self {
        self.once_by = Some(field.into());
        self
    }

    /// The time between two polls: 1 ms to 7 days, 1 s by default.
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
        const UNASKED: &str = "who claims it and cannot ask whether it was consumed loses it";
        const CONSUMED: &str =
            "a message whose value was acked before is dropped, and nobody is told";
        const PUT_BACK: &str = "who looked before a defer takes what that put back";
        let mut guarantees = if self.processing {
            let mut kept = declared::leasing(
                match self.priority {
                    true => "zset-json with processing and priority",
                    false => "zset-json with processing",
                },
                QueueKind::Delay,
            )
            .caveat("L1", Condition::NoFaults, OLD)
            .caveat(
                "L6",
                Condition::NoFaults,
                "an expired lease charges no attempt",
            );
            kept.lacking.remove(&Feature::Expiry);
            kept
        } else {
            let name = match self.priority {
                true => "zset-json with priority",
                false => "zset-json",
            };
            let mut plain = declared::at_most_once(name, QueueKind::Delay)
                .caveat("L5", Condition::EqualBodies, SAME)
                .caveat(
                    "L8",
                    Condition::Fault("cancelled"),
                    "who is dropped after its claim loses it",
                );
            if self.once_by.is_some() {
                plain = plain.caveat("L8", Condition::Fault("request lost"), UNASKED);
            }
            plain
        };
        if self.once_by.is_some() && self.processing {
            guarantees = guarantees.caveat("L5", Condition::NoFaults, CONSUMED);
        }
        guarantees = guarantees
            .caveat("D3", Condition::EqualBodies, SAME)
            .caveat("D1", Condition::ClockAhead, "clients' clocks decide")
            .caveat(
                "D2",
                Condition::NoFaults,
                "ties go by the bytes of the bodies",
            );
        match (self.priority, self.processing) {
            (true, _) => guarantees.caveat("D1", Condition::NoFaults, "priority counts as time"),
            (false, false) => guarantees.caveat("D1", Condition::NoFaults, PUT_BACK),
            (false, true) => guarantees,
        }
    }

    fn check(&self) -> Result<()> {
        check_time_or_none("claim_timeout", self.claim_timeout)?;
        check_time("poll", self.poll)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let name = opening.key(None);
        let published =
            |set: &Option<String>, begin| set.clone().unwrap_or_else(|| format!("{begin}:{name}"));
        let queue = published(&self.key, "delay_queue");
        let dead = companion(self.dead_key.as_ref(), &queue, "dead");
        let zset = Zset {
            processing: Processing {
                queue: queue.clone(),
                claimed: published(&self.processing_key, "processing_queue"),
                retries: companion(self.retries_key.as_ref(), &queue, "retries"),
                dead: dead.clone(),
                max_attempts: opening.max_attempts(),
                claim_timeout: self.claim_timeout,
            },
            consumed: companion(self.consumed_key.as_ref(), &queue, "consumed"),
            queue,
            dead,
            recipe: self.clone(),
        };
        opening.shell(self.guarantees(), zset.queue.clone(), |_| zset)
    }
}
