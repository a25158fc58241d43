//! Finding (L18), and the results that acks keep (S1, S2).

use std::time::Duration;

use queue_core::{Found, KeptResult, MessageId, Standing, Timestamp, limits::MAX_BATCH};

use super::{
    LeasingModel, ModelResult,
    entry::{ModelEntry, ModelPlace},
    limits,
    peek::standing,
};

impl LeasingModel {
    /// What became of each of these messages.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn find(&mut self, now: Timestamp, ids: &[MessageId]) -> ModelResult<Vec<Found>> {
        limits::batch(ids.len())?;
        let now = self.begin(now);
        let found = |id: &MessageId| {
            let mut ever = self.entries.iter();
            let entry = ever.find(|entry| entry.id == *id);
            entry.map_or(Found::NeverWas, |entry| found(entry, now))
        };
        Ok(ids.iter().map(found).collect())
    }

    /// Stores the result of a message that is acked now.
    pub(super) fn keep_result(&mut self, at: usize, kept: &KeptResult, now: u64) {
        let end = now + limits::millis(kept.time);
        self.entries[at].result = Some((end, kept.result.clone()));
        let live = self.by(|entry| Some(entry.result.as_ref()?.0).filter(|end| *end > now));
        let excess = live.len().saturating_sub(kept.at_most.get() as usize);
        for at in live.into_iter().take(excess.min(MAX_BATCH)) {
            self.entries[at].result = None;
        }
    }
}

fn found(entry: &ModelEntry, now: u64) -> Found {
    match &entry.place {
        ModelPlace::Gone(_) => match &entry.result {
            Some((end, result)) if now < *end => Found::Done(result.clone()),
            _ => Found::Gone,
        },
        ModelPlace::Dead(death) => Found::dead(
            entry.attempts,
            death.reason.clone(),
            entry.failure.clone(),
            Timestamp::from_millis(entry.pushed),
            Timestamp::from_millis(death.at),
        )
        .with_state_size(entry.state.len()),
        _ => Found::present(
            entry.attempts,
            Duration::from_millis(now.saturating_sub(entry.pushed)),
            entry.failure.clone(),
            match entry.deadline().or(entry.due()) {
                Some(time) if now < time => standing(entry, queue_core::Place::Delayed, now),
                _ => Standing::Ready,
            },
        )
        .with_state_size(entry.state.len()),
    }
}
