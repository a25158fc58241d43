//! A delay queue's one line, by (due, id); its due messages are ready (D2).

use queue_core::Timestamp;

use super::{
    backlog::Backlog,
    entry::{Entries, EntryPlace, Slot},
    timeline::Timeline,
};

#[derive(Debug, Default)]
pub(crate) struct DueLine(Timeline);

impl Backlog for DueLine {
    #[inline]
    fn join(&mut self, entries: &mut Entries, slot: Slot, now: Timestamp) {
        self.delay(entries, slot, now);
    }

    fn rejoin(&mut self, entries: &mut Entries, slot: Slot, ended: Timestamp) {
        planted!(ReturnedToTheWrongEnd => ended = Timestamp::default());
        self.delay(entries, slot, ended);
    }

    #[inline]
    fn delay(&mut self, entries: &mut Entries, slot: Slot, due: Timestamp) {
        let entry = &mut entries[slot];
        entry.place = EntryPlace::Due(due);
        self.0.insert(due, entry.id, slot);
    }

    fn postpone(&mut self, entries: &mut Entries, slot: Slot, due: Timestamp) {
        self.remove(entries, slot);
        self.delay(entries, slot, due);
    }

    /// A due message is ready in its place.
    #[inline]
    fn promote(&mut self, _entries: &mut Entries, _now: Timestamp) {}

    #[inline]
    fn first_ready(&self, now: Timestamp) -> Option<Slot> {
        let (due, slot) = self.0.first()?;
        (due <= now).then_some(slot)
    }

    fn first(&self) -> Option<Slot> {
        self.0.first().map(|(_, slot)| slot)
    }

    #[inline]
    fn remove(&mut self, entries: &mut Entries, slot: Slot) {
        let entry = &entries[slot];
        if let EntryPlace::Due(due) = entry.place {
            self.0.remove(due, entry.id);
        }
    }

    #[inline]
    fn next_due(&self) -> Option<Timestamp> {
        self.0.first_time()
    }

    fn next_promotion(&self) -> Option<Timestamp> {
        None
    }

    fn count_ready(&mut self, now: Timestamp) -> usize {
        self.0.count_until(now)
    }

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    fn oldest_ready(&self, _entries: &Entries, now: Timestamp) -> Option<Timestamp> {
        self.0.first_time().filter(|due| *due <= now)
    }

    fn ready<'a>(
        &'a self,
        _entries: &'a Entries,
        now: Timestamp,
    ) -> impl Iterator<Item = Slot> + 'a {
        self.0.slots_until(now)
    }

    fn delayed(&self, now: Timestamp) -> impl Iterator<Item = Slot> + '_ {
        self.0.slots_after(now)
    }
}

coded!(DueLine { 0 });
