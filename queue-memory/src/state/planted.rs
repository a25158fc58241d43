//! Planted bugs of a state that take more than a line. See [`Bug`].

use std::cmp::Reverse;

use queue_core::{
    Cancelled,
    Disposition::{Ack, Bury},
    Distinct, MessageId, Page, Push, Pushed, Rescheduled, Settlement, Timestamp,
};

use super::{
    backlog::Backlog,
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

    /// Stores the state of a settlement with its message, whoever holds that.
    pub(super) fn store_unchecked(&mut self, settlement: &Settlement) {
        let slot = self.index.get(settlement.receipt.id);
        if let (Some(slot), Some(state)) = (slot, &settlement.state) {
            self.entries[slot].store((**state).clone());
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

    /// If the message is leased, takes the lease away, and delays the message.
    pub(super) fn delay_the_leased(&mut self, id: MessageId) {
        let leased = self
            .index
            .get(id)
            .filter(|slot| self.entries[*slot].is_leased());
        if let Some(slot) = leased {
            self.take_back(id);
            self.backlog.remove(&mut self.entries, slot);
            self.backlog
                .delay(&mut self.entries, slot, Timestamp::default());
        }
    }

    /// Moves the first half of these messages, and answers for the others as if it had.
    pub(super) fn move_half(&mut self, ids: &[MessageId], due: Timestamp) -> Vec<Rescheduled> {
        let half = ids.len().div_ceil(2);
        let one = |(nth, id): (usize, &MessageId)| {
            let slot = self.undelivered(*id).map(|slot| self.entries[slot].place);
            match slot {
                Some(EntryPlace::Due(_)) if nth >= half => Rescheduled::Moved,
                _ => self.reschedule_one(*id, due),
            }
        };
        ids.iter().enumerate().map(one).collect()
    }

    /// Whether a leased message holds this key.
    pub(super) fn is_held_by_leased(&self, distinct: &Distinct) -> bool {
        let owner = self.distinct.owner(&distinct.key);
        owner.is_some_and(|owner| self.undelivered(owner).is_none())
    }

    /// Cancels a message, which keeps its distinct key.
    pub(super) fn cancel_but_for_its_key(&mut self, slot: Slot) -> Cancelled {
        let id = self.entries[slot].id;
        let key = self.distinct.key_of(id);
        self.withdraw(slot);
        self.counters.cancelled += 1;
        if let Some(key) = key {
            let distinct = Distinct::new(key.to_vec());
            self.distinct.pass(&distinct, id, Timestamp::default());
        }
        Cancelled::Cancelled
    }

    /// Replaces a message that is gone and holds the key of this push.
    pub(super) fn replace_the_gone(&mut self, push: &Push, now: Timestamp) -> Option<Pushed> {
        let replaced = self.distinct.owner(&push.distinct.as_ref()?.key)?;
        if self.index.get(replaced).is_some() {
            return None;
        }
        self.counters.replaced += 1;
        let id = self.add(push, now, now);
        Some(Pushed::Replaced { id, replaced })
    }

    /// Adds a message, and leaves the message that it replaces.
    pub(super) fn add_beside(&mut self, push: &Push, slot: Slot, now: Timestamp) -> Pushed {
        let replaced = self.entries[slot].id;
        self.counters.replaced += 1;
        let id = self.add(push, now, now);
        Pushed::Replaced { id, replaced }
    }

    /// Adds a message in the place of the one that it replaces: at its due time, or before all others.
    pub(super) fn replace_in_place(&mut self, push: &Push, slot: Slot, now: Timestamp) -> Pushed {
        let mut push = push.clone();
        let delayed = match self.entries[slot].place {
            EntryPlace::Due(due) => Some(due.into()),
            _ => None,
        };
        let is_first = delayed.is_none();
        push.due = delayed.or(push.due);
        let replaced = self.withdraw(slot).id;
        self.counters.replaced += 1;
        let id = self.add(&push, now, now);
        if let Some(slot) = self.index.get(id).filter(|_| is_first) {
            self.put_first(slot, now);
        }
        Pushed::Replaced { id, replaced }
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
