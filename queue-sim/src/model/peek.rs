//! Peeking (L16).

use std::time::Duration;

use queue_core::{Cursor, Page, Paged, Peeked, Receipt, Standing, TimeToLive, Timestamp};

use super::{
    LeasingModel, ModelResult,
    entry::{ModelEntry, ModelPlace},
    limits,
};

/// The end of a page whose content the contract leaves open.
pub(crate) const UNDETERMINED: Cursor = Cursor::new(u64::MAX);

/// The bits of a cursor that count.
const SHOWN: u64 = (1 << 20) - 1;

/// A number for these in this order, in the other bits.
fn digest(numbers: impl Iterator<Item = u64>) -> u64 {
    let mix = |digest: u64, number: u64| {
        (digest ^ number)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
    };
    numbers.fold(1, mix) & !SHOWN
}

impl LeasingModel {
    /// The messages of one place, in its order. The cursor has the number of messages shown so far, and a digest of the
    /// order: a page that goes on in an order that has changed is `UNDETERMINED`.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn peek(
        &mut self,
        now: Timestamp,
        place: queue_core::Place,
        page: Page,
    ) -> ModelResult<Paged<Peeked>> {
        limits::page(page.limit)?;
        let now = self.begin(now);
        let mut line = match place {
            queue_core::Place::Ready => self.ready(now),
            queue_core::Place::Delayed => self.delayed(now),
            queue_core::Place::Leased => self.leased(),
        };
        // A message that was leased meanwhile may have come back to another place of the same rank.
        let ids = line.iter().map(|at| self.entries[*at].id.get());
        let digest = digest(ids.chain([self.last_token]));
        let mut shown = 0;
        if let Some(after) = page.after {
            if after == UNDETERMINED || after.get() & !SHOWN != digest {
                return Ok(Paged::new(Vec::new(), Some(UNDETERMINED)));
            }
            shown = after.get() & SHOWN;
        }
        line.drain(..line.len().min(shown as usize));
        let sizes: Vec<usize> = line.iter().map(|at| self.entries[*at].size()).collect();
        let count = limits::carried(&sizes, page.limit);
        let more = count < line.len();
        Ok(Paged::new(
            line[..count]
                .iter()
                .map(|at| peeked(&self.entries[*at], place, now))
                .collect(),
            more.then(|| Cursor::new(digest | (shown + count as u64))),
        ))
    }
}

fn peeked(entry: &ModelEntry, place: queue_core::Place, now: u64) -> Peeked {
    let mut peeked = Peeked::new(
        entry.message(),
        entry.attempts,
        Duration::from_millis(now.saturating_sub(entry.pushed)),
        standing(entry, place, now),
    );
    peeked.failure = entry.failure.clone();
    peeked.state = entry.state();
    peeked.priority = entry.priority;
    peeked.group = entry.group();
    peeked.time_to_live = entry.outdates.map(|(end, then)| TimeToLive {
        limit: Duration::from_millis(end.saturating_sub(now)),
        then,
    });
    peeked
}

/// The place of a message, which a peek at `place` shows.
pub(super) fn standing(entry: &ModelEntry, place: queue_core::Place, now: u64) -> Standing {
    let until = |time: u64| Duration::from_millis(time.saturating_sub(now));
    match &entry.place {
        ModelPlace::Leased {
            token,
            deadline,
            holder,
            progress,
        } => Standing::leased(
            Receipt::new(entry.id, *token),
            until(*deadline),
            holder.clone(),
            progress.clone(),
        ),
        // On a delay queue, a due message is ready.
        ModelPlace::Delayed { due } if place == queue_core::Place::Delayed => {
            Standing::delayed(until(*due))
        }
        _ => Standing::Ready,
    }
}
