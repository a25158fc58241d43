//! Delivers each message at its due time.

use std::time::Duration;

use queue_core::{
    Cancelled, DelayConfig, Due, MessageId, Pushed, Rescheduled, Scheduled, Timestamp,
};

use super::{
    Answer, LeasingModel,
    entry::{Exit, Place},
    limits,
    order::Order,
};

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
        messages
            .iter()
            .try_for_each(|message| limits::due(message.due))?;
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

    /// Takes undelivered messages out.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn cancel(&mut self, now: Timestamp, ids: &[MessageId]) -> Answer<Vec<Cancelled>> {
        limits::batch(ids.len())?;
        self.begin(now);
        let mut cancelled = Vec::new();
        for id in ids {
            cancelled.push(match self.undelivered_by(*id) {
                None => Cancelled::TooLate,
                Some(at) => {
                    self.leave(at, Exit::Cancelled);
                    Cancelled::Cancelled
                }
            });
        }
        Ok(cancelled)
    }

    /// Gives an undelivered message another due time.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn reschedule(&mut self, now: Timestamp, id: MessageId, due: Due) -> Answer<Rescheduled> {
        limits::due(due)?;
        let now = self.begin(now);
        let Some(at) = self.undelivered_by(id) else {
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

    fn undelivered_by(&self, id: MessageId) -> Option<usize> {
        let mut entries = self.entries.iter();
        entries.position(|entry| entry.id == id && entry.due().is_some())
    }
}

/// The due time that a value means now; never earlier than now.
fn resolve(due: Due, now: u64) -> u64 {
    match due {
        Due::After(delay) => now + limits::millis(delay),
        Due::At(time) => time.as_millis().max(now),
    }
}

super::leasing::built_on_leasing!(DelayModel);
