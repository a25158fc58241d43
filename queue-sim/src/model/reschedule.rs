//! Other due times (D4), and the first of them.

use std::time::Duration;

use queue_core::{Due, MessageId, Rescheduled, Timestamp};

use super::{
    LeasingModel, ModelResult,
    entry::{ModelEntry, ModelPlace},
    limits,
    push::resolve,
};

impl LeasingModel {
    /// Gives messages another due time, one after another: on a delay queue undelivered ones, elsewhere delayed ones.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn reschedule(
        &mut self,
        now: Timestamp,
        ids: &[MessageId],
        due: Due,
    ) -> ModelResult<Vec<Rescheduled>> {
        limits::batch(ids.len())?;
        limits::due(due)?;
        let now = self.begin(now);
        let due = resolve(due, now);
        let mut answers = Vec::new();
        for id in ids {
            let mut entries = self.entries.iter_mut();
            // On a delay queue, a message that is ready has a due time, too.
            let entry = entries.find(|entry| entry.id == *id && entry.due().is_some());
            answers.push(match entry {
                None => Rescheduled::TooLate,
                Some(entry) => {
                    entry.place = ModelPlace::Delayed { due };
                    entry.arrival = due;
                    Rescheduled::Moved
                }
            });
        }
        Ok(answers)
    }

    /// The time until the first undelivered message of a delay queue is due.
    pub fn next_due(&mut self, now: Timestamp) -> Option<Duration> {
        let now = self.begin(now);
        let next = self.entries.iter().filter_map(ModelEntry::due).min()?;
        Some(Duration::from_millis(next.saturating_sub(now)))
    }
}
