//! Counts of a queue's messages and of its operations.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::in_json;

/// The number of messages in each place at one instant.
///
/// A message counts as ready from its deadline or due time on, reclaimed yet or not (L7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Depth {
    /// Messages that a consumer can lease now.
    pub ready: u64,
    /// Messages that wait for a due time or for the end of a retry delay.
    pub delayed: u64,
    /// Messages under a live lease.
    pub leased: u64,
    /// Dead letters.
    pub dead: u64,
}

impl Depth {
    /// The number of messages that are ready, delayed, leased and dead.
    pub const fn new(ready: u64, delayed: u64, leased: u64, dead: u64) -> Self {
        Self {
            ready,
            delayed,
            leased,
            dead,
        }
    }

    /// The messages that count towards a bounded queue's capacity: ready + delayed + leased (B1).
    pub const fn occupied(self) -> u64 {
        self.ready + self.delayed + self.leased
    }
}

/// A queue's counts since it was created, all read at one instant.
///
/// ```
/// use queue_core::{Counters, Depth};
///
/// let mut counters = Counters::default();
/// counters.accepted = 3;
/// counters.acked = 1;
/// counters.depth = Depth::new(2, 0, 0, 0);
/// assert!(counters.balance());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counters {
    /// Pushes accepted; duplicates and refusals are not counted.
    pub accepted: u64,
    /// Messages acked.
    pub acked: u64,
    /// Retries that put a message back.
    pub retried: u64,
    /// Deferrals.
    pub deferred: u64,
    /// Releases.
    pub released: u64,
    /// Leases that expired, also on a last attempt.
    pub expired: u64,
    /// Deaths, whether revived later or not.
    pub died: u64,
    /// Dead letters revived.
    pub revived: u64,
    /// Messages that a bounded queue dropped to make room, or by a resize.
    pub evicted: u64,
    /// Messages replaced under a distinct key.
    pub replaced: u64,
    /// Undelivered messages cancelled (L15).
    pub cancelled: u64,
    /// Dead letters discarded by an operator.
    pub discarded: u64,
    /// Dead letters dropped because of the cap.
    pub trimmed: u64,
    /// Messages removed by a purge.
    pub purged: u64,
    /// Messages dropped because their time to live was over (L17); messages buried for the same reason count
    /// as deaths.
    pub outdated: u64,
    /// Dedup marks kept now. Each lives for its window; an expired one counts until a later call
    /// clears it away.
    pub dedup_marks: u64,
    /// The groups of a grouped queue: those with ready messages, with messages that hold places, or with a rule.
    pub groups: u64,
    /// The messages in each place.
    pub depth: Depth,
    /// How long the message at the head of the queue has been ready: since its push, its due time or the end
    /// of its retry delay. A release or an expired lease does not restart this time. Returned messages and
    /// each priority have a head of their own; the oldest head counts.
    #[serde(default, rename = "oldest_ready_ms", with = "in_json::millis_if_any")]
    pub oldest_ready: Option<Duration>,
    /// The time until the queue's rate allows the next delivery (Q2); `None` if it allows one now, or has no rate.
    #[serde(default, rename = "next_token_ms", with = "in_json::millis_if_any")]
    pub next_token: Option<Duration>,
    /// Whether the queue is paused.
    pub paused: bool,
}

impl Counters {
    /// Whether the counts add up: no message lost, none made up (L5).
    pub const fn balance(&self) -> bool {
        let held = self.depth.occupied() + self.depth.dead;
        let gone = self.acked
            + self.evicted
            + self.replaced
            + self.cancelled
            + self.discarded
            + self.trimmed
            + self.purged
            + self.outdated;
        self.accepted == held + gone
    }
}
