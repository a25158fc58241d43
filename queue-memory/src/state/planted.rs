//! Planted bugs of a state that take more than a line. See [`Bug`].

use std::cmp::Reverse;

use queue_core::{
    Disposition::{Ack, Bury},
    MessageId, Page, Settlement, Timestamp,
};

use super::{
    backlog::Backlog,
    bounded::Bounded,
    entry::{EntryPlace, Slot, StoredMessage},
    kind::Kind,
    leasing::LeasingState,
    looking,
    rotating::Ring,
};
use crate::planted::{self, Bug};

impl<K: Kind> LeasingState<K> {
    /// The next message to deliver in the planted bug's order.
    pub(super) fn misordered(&self, now: Timestamp) -> Option<Slot> {
        let is_ready = |entry: &StoredMessage| match entry.place {
            EntryPlace::Line | EntryPlace::Returned => true,
            EntryPlace::Due(due) => due <= now,
            EntryPlace::Leased { .. } => false,
        };
        let due = |entry: &StoredMessage| match entry.place {
            EntryPlace::Due(due) => due,
            _ => entry.since,
        };
        let ready = self.entries.iter().filter(|(_, entry)| is_ready(entry));
        let found = match planted::bug()? {
            Bug::LastInFirstOut => ready.max_by_key(|(_, entry)| (entry.priority, entry.id)),
            Bug::LatestFirst => ready.max_by_key(|(_, entry)| (due(entry), Reverse(entry.id))),
            Bug::TextualTies => ready.min_by_key(|(_, entry)| (due(entry), text(entry.id))),
            _ => ready.min_by_key(|(_, entry)| packed(entry)),
        };
        found.map(|(slot, _)| slot)
    }

    /// A delivered message no longer holds its distinct key.
    pub(super) fn free_key(&mut self, slot: Slot) {
        if let Some(key) = self.entries[slot].key.take() {
            self.keys.remove(&key);
        }
    }

    /// If the message is leased, takes the lease away.
    pub(super) fn take_back(&mut self, id: MessageId) {
        if let Some(slot) = self.index.get(id)
            && let EntryPlace::Leased { deadline, .. } = self.entries[slot].place
        {
            self.leases.remove(deadline, id);
            self.forget_holder(slot);
            self.backlog.rejoin(&mut self.entries, slot, deadline);
        }
    }

    /// Restarts a message's time to live.
    pub(super) fn live_anew(&mut self, slot: Slot, now: Timestamp) {
        let entry = &self.entries[slot];
        let pushed = entry.pushed().as_millis();
        if let Some((end, _)) = self.ends.by_id.get_mut(&entry.id) {
            *end = now.plus_millis(end.as_millis() - pushed);
        }
    }

    /// The ready messages that a page may show, without those that came back.
    pub(super) fn unreturned(&self, now: Timestamp, page: Page) -> Vec<Slot> {
        let ready = self.backlog.ready(&self.entries, now);
        looking::part(
            ready.filter(|slot| self.entries[*slot].place != EntryPlace::Returned),
            page,
        )
    }

    /// Whether a settlement gives the message back to the queue.
    pub(super) fn comes_back(settlement: &Settlement) -> bool {
        !matches!(settlement.disposition, Ack | Bury { .. })
    }
}

impl LeasingState<Bounded> {
    /// Moves a ready message before all others.
    pub(super) fn put_first(&mut self, slot: Slot, now: Timestamp) {
        self.backlog.remove(&mut self.entries, slot);
        self.backlog.rejoin(&mut self.entries, slot, now);
    }

    /// If every message is leased, takes the first lease away.
    pub(super) fn end_a_lease(&mut self) {
        if self.backlog.len() == 0
            && let Some((deadline, slot)) = self.leases.pop_until(Timestamp::from_millis(u64::MAX))
        {
            self.forget_holder(slot);
            self.backlog.rejoin(&mut self.entries, slot, deadline);
        }
    }

    /// The message that eviction drops by the planted bug.
    pub(super) fn misevicted(&self) -> Option<Slot> {
        let mut undelivered = self.entries.iter().filter(|(_, entry)| !entry.is_leased());
        let found = match planted::bug()? {
            Bug::EvictsTheNewest => undelivered.max_by_key(|(_, entry)| entry.id),
            _ => undelivered.find(|(_, entry)| matches!(entry.place, EntryPlace::Due(_))),
        };
        found.map(|(slot, _)| slot)
    }
}

impl Ring {
    /// The item at the head.
    pub(super) fn head(&self) -> Option<MessageId> {
        let first = self.list(Page::first(1));
        first.entries.first().map(|item| item.id)
    }
}

fn text(id: MessageId) -> String {
    id.get().to_string()
}

fn packed(entry: &StoredMessage) -> i32 {
    let arrival = (entry.arrival.as_millis() % (1 << 17)) as i32;
    arrival.wrapping_sub(i32::from(entry.priority) << 17)
}
