//! A line of messages in the order of joining, linked through the entries themselves. Joining, leaving from
//! anywhere and a step either way cost the same for any length.

use super::entry::{Entries, NONE, Slot, StoredMessage};

#[derive(Debug)]
pub(crate) struct ReadyLine {
    head: Slot,
    tail: Slot,
    len: usize,
}

impl Default for ReadyLine {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

impl ReadyLine {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<Slot> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub(crate) fn push(&mut self, entries: &mut Entries, slot: Slot) {
        let tail = std::mem::replace(&mut self.tail, slot);
        let entry = &mut entries[slot];
        entry.before = tail;
        entry.after = NONE;
        if tail == NONE {
            self.head = slot;
        } else {
            entries[tail].after = slot;
        }
        self.len += 1;
    }

    #[inline]
    pub(crate) fn remove(&mut self, entries: &mut Entries, slot: Slot) {
        let StoredMessage { before, after, .. } = entries[slot];
        if before == NONE {
            self.head = after;
        } else {
            entries[before].after = after;
        }
        if after == NONE {
            self.tail = before;
        } else {
            entries[after].before = before;
        }
        self.len -= 1;
    }

    /// From the first to the last.
    pub(crate) fn forwards<'a>(&self, entries: &'a Entries) -> impl Iterator<Item = Slot> + 'a {
        let mut next = self.head;
        std::iter::from_fn(move || {
            let slot = (next != NONE).then_some(next)?;
            next = entries[slot].after;
            Some(slot)
        })
    }

    /// From the last to the first.
    pub(crate) fn backwards<'a>(&self, entries: &'a Entries) -> impl Iterator<Item = Slot> + 'a {
        let mut next = self.tail;
        std::iter::from_fn(move || {
            let slot = (next != NONE).then_some(next)?;
            next = entries[slot].before;
            Some(slot)
        })
    }
}

coded!(ReadyLine { head, tail, len });
