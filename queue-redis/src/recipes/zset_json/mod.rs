mod fields;
mod processing;
mod zset;

use std::time::Duration;

use queue_core::{Feature, Guarantees, QueueKind, When};

use self::{processing::Processing, zset::Zset};
use super::{
    declared,
    published::{Opened, Opening, Recipe},
};

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
        const PUT_BACK: &str = "who looked before a defer takes what that put back";
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
            kept.lacking.remove(&Feature::Expiry);
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
        if self.priority {
            return guarantees.weaker("D1", When::Alone, "priority counts as time");
        }
        if !self.processing {
            for fault in ["cancelled", "crashed", "stalled"] {
                guarantees = guarantees.weaker("D1", When::Fault(fault), PUT_BACK);
            }
        }
        guarantees
    }

    fn open<'a>(&'a self, opening: Opening<'a>) -> Opened<'a> {
        let name = opening.key(None);
        let queue = format!("delay_queue:{name}");
        let dead = format!("dead_letter_queue:{name}");
        let zset = Zset {
            processing: Processing {
                queue: queue.clone(),
                claimed: format!("processing_queue:{name}"),
                retries: format!("retry_count:{name}"),
                dead: dead.clone(),
                max_attempts: opening.max_attempts(),
            },
            queue,
            dead,
            consumed: format!("consumed:{name}"),
            recipe: self.clone(),
        };
        opening.shell(self.guarantees(), zset.queue.clone(), |_| zset)
    }
}
