//! Cancelling (L15).

use queue_core::{Cancelled, MessageId, Timestamp};

use super::{LeasingModel, ModelResult, entry::Exit, limits};

impl LeasingModel {
    /// Takes undelivered messages out, one after another.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn cancel(&mut self, now: Timestamp, ids: &[MessageId]) -> ModelResult<Vec<Cancelled>> {
        limits::batch(ids.len())?;
        self.begin(now);
        let mut cancelled = Vec::new();
        for id in ids {
            let mut ever = self.entries.iter();
            cancelled.push(match ever.position(|entry| entry.id == *id) {
                None => Cancelled::NeverWas,
                Some(at) if !self.entries[at].is_undelivered() => Cancelled::TooLate,
                Some(at) => {
                    self.leave(at, Exit::Cancelled);
                    Cancelled::Cancelled
                }
            });
        }
        Ok(cancelled)
    }
}
