//! Showing messages without taking them: peeking (L16), and finding (L18).

use bytes::Bytes;
use queue_core::{
    Cursor, Found, MessageId, Page, Paged, Peeked, Receipt, Standing, Timestamp, limits,
};

use super::{
    backlog::Backlog,
    entry::{EntryPlace, Slot, StoredMessage},
    kind::Kind,
    leasing::LeasingState,
};

impl<K: Kind> LeasingState<K> {
    pub(crate) fn peek(
        &mut self,
        now: Timestamp,
        place: queue_core::Place,
        page: Page,
    ) -> Paged<Peeked> {
        use queue_core::Place::{Delayed, Leased, Ready};

        let now = self.begin(now);
        let slots = match place {
            Ready => part(self.backlog.ready(&self.entries, now), page),
            Delayed => part(self.backlog.delayed(now), page),
            Leased => part(self.leases.slots(), page),
        };
        planted!(PeekSkipsTheReturned =>
            slots = if place == Ready { self.unreturned(now, page) } else { slots });
        let shown = || slots.iter().map(|slot| &self.entries[*slot]);
        let count = limits::fitting(shown().map(StoredMessage::size), page.limit);
        let peeked = shown()
            .take(count)
            .map(|entry| self.peeked(entry, place, now));
        let shown_before = page.after.map_or(0, Cursor::get);
        Paged::new(
            peeked.collect(),
            (slots.len() > count).then(|| Cursor::new(shown_before + count as u64)),
        )
    }

    /// Finds out what became of messages.
    pub(crate) fn find(&mut self, now: Timestamp, ids: &[MessageId]) -> Vec<Found> {
        let now = self.begin(now);
        ids.iter().map(|id| self.find_one(now, *id)).collect()
    }

    fn find_one(&self, now: Timestamp, id: MessageId) -> Found {
        if let Some(slot) = self.index.get(id) {
            let entry = &self.entries[slot];
            let ready = match entry.place {
                EntryPlace::Leased { deadline, .. } => deadline <= now,
                EntryPlace::Due(due) => due <= now,
                EntryPlace::Line | EntryPlace::Returned => true,
            };
            return Found::present(
                entry.attempts,
                now.since(entry.pushed()),
                entry.failure(),
                match ready {
                    true => Standing::Ready,
                    false => self.standing(entry, queue_core::Place::Delayed, now),
                },
            )
            .with_state_size(entry.state().map_or(0, Bytes::len));
        }
        if let Some(letter) = self.dead.get(id) {
            return Found::dead(
                letter.attempts,
                letter.reason.clone(),
                letter.failure.clone(),
                letter.pushed_at,
                letter.died_at,
            )
            .with_state_size(letter.state.as_ref().map_or(0, Bytes::len));
        }
        match self.results.get(id, now) {
            Some(result) => Found::Done(result),
            None if (1..=self.last_id).contains(&id.get()) => Found::Gone,
            None => Found::NeverWas,
        }
    }

    fn peeked(&self, entry: &StoredMessage, place: queue_core::Place, now: Timestamp) -> Peeked {
        let mut peeked = Peeked::new(
            entry.message(),
            entry.attempts,
            now.since(entry.pushed()),
            self.standing(entry, place, now),
        );
        peeked.failure = entry.failure();
        peeked.priority = entry.priority;
        peeked.group = K::group(entry);
        peeked.state = entry.state().cloned();
        peeked.time_to_live = self.ends.left(entry.id, now);
        peeked
    }

    fn standing(
        &self,
        entry: &StoredMessage,
        place: queue_core::Place,
        now: Timestamp,
    ) -> Standing {
        match entry.place {
            EntryPlace::Leased {
                token,
                deadline,
                holder,
            } => Standing::leased(
                Receipt::new(entry.id, token),
                deadline.since(now),
                self.holders.get(holder),
                self.progress.get(&entry.id).cloned(),
            ),
            // On a delay queue, a due message is ready in its place.
            EntryPlace::Due(due) if place == queue_core::Place::Delayed => {
                Standing::delayed(due.since(now))
            }
            _ => Standing::Ready,
        }
    }
}

/// The messages that a page may show, and the next message, which shows that there are more.
pub(super) fn part(slots: impl Iterator<Item = Slot>, page: Page) -> Vec<Slot> {
    let shown = page.after.map_or(0, Cursor::get);
    let shown = usize::try_from(shown).unwrap_or(usize::MAX);
    slots.skip(shown).take(page.limit + 1).collect()
}
