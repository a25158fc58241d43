//! Delivers the most urgent message first.

use queue_core::{Prioritized, PriorityConfig, Pushed, Timestamp};

use crate::model::{Answer, LeasingModel, limits, order::Order};

/// The model of a priority queue; [`LeasingModel`] has the verbs of all leasing kinds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PriorityModel {
    leasing: LeasingModel,
}

impl PriorityModel {
    /// A new queue.
    pub fn new(config: &PriorityConfig) -> Self {
        Self {
            leasing: LeasingModel::new(&config.leasing, Order::of_priority(config)),
        }
    }

    /// Puts messages in, each with its priority.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn enqueue(&mut self, now: Timestamp, messages: &[Prioritized]) -> Answer<Vec<Pushed>> {
        let pushes = messages.iter().map(|message| &message.push);
        limits::pushes(pushes, self.config.max_body)?;
        let now = self.begin(now);
        let mut pushed = Vec::new();
        for message in messages {
            let dedup = message.push.dedup.as_ref();
            pushed.push(match self.duplicate_of(now, dedup) {
                Some(first) => Pushed::Duplicate(first),
                None => {
                    let at = self.accept(now, &message.push);
                    self.entries[at].priority = message.priority;
                    Pushed::Accepted(self.entries[at].id)
                }
            });
        }
        Ok(pushed)
    }
}

crate::model::leasing::built_on_leasing!(PriorityModel);
