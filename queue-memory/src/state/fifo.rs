//! First in, first out; returned messages go first.

use std::collections::BTreeMap;

use queue_core::MessageId;

use super::{
    backlog::Lines,
    entry::{Entries, EntryPlace, Slot},
    line::ReadyLine,
};

/// The ready messages of a reliable or bounded queue, or of one priority: returned ones by id, and
/// then the rest in the order of joining (L11).
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    returned: BTreeMap<MessageId, Slot>,
    line: ReadyLine,
}

impl Fifo {
    /// The reverse of the delivery order.
    pub(crate) fn backwards<'a>(&'a self, entries: &'a Entries) -> impl Iterator<Item = Slot> + 'a {
        let returned = self.returned.values().rev().copied();
        self.line.backwards(entries).chain(returned)
    }
}

impl Lines for Fifo {
    #[inline]
    fn join(&mut self, entries: &mut Entries, slot: Slot) {
        entries[slot].place = EntryPlace::Line;
        self.line.push(entries, slot);
    }

    fn rejoin(&mut self, entries: &mut Entries, slot: Slot) {
        let entry = &mut entries[slot];
        entry.place = EntryPlace::Returned;
        self.returned.insert(entry.id, slot);
    }

    #[inline]
    fn first(&self) -> Option<Slot> {
        let returned = self.returned.values().next().copied();
        returned.or_else(|| self.line.first())
    }

    #[inline]
    fn remove(&mut self, entries: &mut Entries, slot: Slot) {
        let entry = &entries[slot];
        if entry.place == EntryPlace::Returned {
            self.returned.remove(&entry.id);
        } else {
            self.line.remove(entries, slot);
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.returned.len() + self.line.len()
    }

    fn heads(&self) -> impl Iterator<Item = Slot> + '_ {
        let returned = self.returned.values().next().copied();
        returned.into_iter().chain(self.line.first())
    }

    fn forwards<'a>(&'a self, entries: &'a Entries) -> impl Iterator<Item = Slot> + 'a {
        let returned = self.returned.values().copied();
        returned.chain(self.line.forwards(entries))
    }
}

coded!(Fifo { returned, line });
