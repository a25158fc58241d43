//! Delivers each message at its due time.

use std::time::Duration;

use queue_core::{Due, MessageId, Pushed, Rescheduled, Scheduled, Timestamp};

use crate::model::{
    LeasingModel, ModelResult,
    entry::{ModelEntry, ModelPlace},
    limits,
    push::resolve,
};

impl LeasingModel {
    /// Puts messages into a delay queue, each with its due time.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn schedule(&mut self, now: Timestamp, messages: &[Scheduled]) -> ModelResult<Vec<Pushed>> {
        for message in messages {
            limits::due(message.due)?;
            limits::time_to_live(message.push.time_to_live, Some(message.due))?;
            // It has one due time already.
            limits::require(message.push.due.is_none())?;
        }
        let delay = |entry: &mut ModelEntry, message: &Scheduled| {
            let due = resolve(message.due, now.as_millis());
            entry.place = ModelPlace::Delayed { due };
        };
        self.put(now, messages, |message| &message.push, delay)
    }

    /// Gives an undelivered message another due time.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn reschedule(
        &mut self,
        now: Timestamp,
        id: MessageId,
        due: Due,
    ) -> ModelResult<Rescheduled> {
        limits::due(due)?;
        let now = self.begin(now);
        let mut entries = self.entries.iter();
        let Some(at) = entries.position(|entry| entry.id == id && entry.is_undelivered()) else {
            return Ok(Rescheduled::TooLate);
        };
        let due = resolve(due, now);
        self.entries[at].place = ModelPlace::Delayed { due };
        Ok(Rescheduled::Moved)
    }

    /// The time until the first undelivered message is due.
    pub fn next_due(&mut self, now: Timestamp) -> Option<Duration> {
        let now = self.begin(now);
        let next = self.entries.iter().filter_map(|entry| entry.due()).min()?;
        Some(Duration::from_millis(next.saturating_sub(now)))
    }
}
