//! Delivers each message at its due time.

use std::time::Duration;

use queue_core::{DelayConfig, Due, MessageId, Pushed, Rescheduled, Scheduled, Timestamp};

use crate::model::{Answer, LeasingModel, entry::Place, limits, order::Order, push::resolve};

/// The model of a delay queue; [`LeasingModel`] has the verbs of all leasing kinds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DelayModel {
    leasing: LeasingModel,
}

impl DelayModel {
    /// A new queue.
    pub fn new(config: &DelayConfig) -> Self {
        Self {
            leasing: LeasingModel::new(&config.leasing, Order::Due),
        }
    }

    /// Puts messages in, each with its due time.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn schedule(&mut self, now: Timestamp, messages: &[Scheduled]) -> Answer<Vec<Pushed>> {
        let pushes = messages.iter().map(|message| &message.push);
        limits::pushes(pushes, self.config.max_body)?;
        for message in messages {
            limits::due(message.due)?;
            limits::time_to_live(message.push.time_to_live, Some(message.due))?;
            // It has one due time already.
            limits::require(message.push.due.is_none())?;
        }
        let now = self.begin(now);
        let mut pushed = Vec::new();
        for message in messages {
            let dedup = message.push.dedup.as_ref();
            pushed.push(match self.duplicate_of(now, dedup) {
                Some(first) => Pushed::Duplicate(first),
                None => {
                    let at = self.accept(now, &message.push);
                    let due = resolve(message.due, now);
                    self.entries[at].place = Place::Delayed { due };
                    Pushed::Accepted(self.entries[at].id)
                }
            });
        }
        Ok(pushed)
    }

    /// Gives an undelivered message another due time.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn reschedule(&mut self, now: Timestamp, id: MessageId, due: Due) -> Answer<Rescheduled> {
        limits::due(due)?;
        let now = self.begin(now);
        let mut entries = self.entries.iter();
        let Some(at) = entries.position(|entry| entry.id == id && entry.is_undelivered()) else {
            return Ok(Rescheduled::TooLate);
        };
        let due = resolve(due, now);
        self.entries[at].place = Place::Delayed { due };
        Ok(Rescheduled::Moved)
    }

    /// The time until the first undelivered message is due.
    pub fn next_due(&mut self, now: Timestamp) -> Option<Duration> {
        let now = self.begin(now);
        let next = self.entries.iter().filter_map(|entry| entry.due()).min()?;
        Some(Duration::from_millis(next.saturating_sub(now)))
    }
}

crate::model::leasing::built_on_leasing!(DelayModel);
