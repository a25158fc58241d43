//! Accepting messages.

use queue_core::{MessageId, Overflow, Push, Pushed, Timestamp};

use super::{
    backlog::Backlog,
    distinct::at_latest,
    entry::{Slot, StoredMessage},
    kind::Kind,
    leasing::LeasingState,
};

impl<K: Kind> LeasingState<K> {
    pub(crate) fn push(&mut self, now: Timestamp, messages: &[Push]) -> Vec<Pushed> {
        let now = self.begin(now);
        let each = messages.iter();
        each.map(|push| self.push_one(push, now)).collect()
    }

    /// Decides in this order: a duplicate, a replacement, room, the policy without room.
    #[inline]
    fn push_one(&mut self, push: &Push, now: Timestamp) -> Pushed {
        let is_full = self.entries.len() >= self.capacity;
        planted!(CapacityOffByOne => is_full = self.entries.len() > self.capacity);
        let first = self.duplicate_of(push, now);
        planted!(FullBeforeDuplicate => first = first.filter(|_| !is_full));
        if let Some(first) = first {
            planted!(DuplicateExtendsTheMark => self.mark(push, first, now));
            return Pushed::Duplicate(first);
        }
        planted!(CancelKeepsTheKey =>
            if let Some(replaced) = self.replace_the_gone(push, now) { return replaced });
        if let Some((slot, began)) = self.replaceable(push) {
            planted!(ReplacedIsDelivered => return self.add_beside(push, slot, now));
            planted!(ReplacementTakesThePlace => return self.replace_in_place(push, slot, now));
            planted!(ReplacedKeepsItsPlace => self.entries[slot].holds = false);
            planted!(ChainForgetsItsStart => began = None);
            // Its group keeps its turn, because it is never empty.
            let id = self.add(push, began.unwrap_or(now), now);
            let replaced = self.withdraw(slot).id;
            self.counters.replaced += 1;
            return Pushed::Replaced { id, replaced };
        }
        if !is_full {
            return Pushed::Accepted(self.add(push, now, now));
        }
        let evicted = match push.overflow {
            Overflow::DropOldest => self.evict().map(|entry| entry.id),
            // A policy of a later version gets no room until this names it.
            _ => None,
        };
        let Some(evicted) = evicted else {
            planted!(RefusalLeavesAMark => self.mark(push, MessageId::new(1), now));
            return Pushed::Full;
        };
        let id = self.add(push, now, now);
        Pushed::Evicted { id, evicted }
    }

    /// The message whose live mark makes this push a duplicate (L9).
    #[inline]
    fn duplicate_of(&self, push: &Push, now: Timestamp) -> Option<MessageId> {
        self.marks.find(&push.dedup.as_ref()?.key, now)
    }

    /// The undelivered message that holds the distinct key of this push (B7), and the first push of those that it
    /// replaced.
    #[inline]
    fn replaceable(&self, push: &Push) -> Option<(Slot, Option<Timestamp>)> {
        let owner = self.distinct.owner(&push.distinct.as_ref()?.key)?;
        Some((self.undelivered(owner)?, self.distinct.began(owner)))
    }

    /// Accepts a message. `began` is the first push of the messages that replaced each other.
    #[inline]
    pub(super) fn add(&mut self, push: &Push, began: Timestamp, now: Timestamp) -> MessageId {
        self.last_id += 1;
        let id = MessageId::new(self.last_id);
        self.mark(push, id, now);
        self.counters.accepted += 1;
        let mut message = StoredMessage::new(id, push, now);
        K::set(&mut message, push);
        let slot = self.keep(message);
        self.limit(push, id, slot, now);
        let mut due = push.due.map(|due| due.resolve(now));
        if let Some(distinct) = &push.distinct {
            due = due.map(|due| at_latest(due, distinct, began));
            planted!(LeasedKeepsTheKey => if self.is_held_by_leased(distinct) {
                self.enter(slot, due, now);
                return id;
            });
            self.distinct.pass(distinct, id, began);
        }
        self.enter(slot, due, now);
        planted!(KeyedGoesFirst => if push.distinct.is_some() { self.put_first(slot, now) });
        id
    }

    /// Sets the dedup mark that a push asks for.
    #[inline]
    fn mark(&mut self, push: &Push, id: MessageId, now: Timestamp) {
        if let Some(dedup) = &push.dedup {
            let end = self.marks.set(dedup, id, now);
            self.expect(end);
        }
    }

    /// Puts an accepted message at the tail of the ready, or delays it (D1).
    #[inline]
    fn enter(&mut self, slot: Slot, due: Option<Timestamp>, now: Timestamp) {
        // A due time that is over changes nothing, not even the place in the batch.
        let due = due.filter(|due| *due > now);
        planted!(DueIsIgnored => due = None);
        match due {
            None => self.backlog.join(&mut self.entries, slot, now),
            // Nothing is promoted at that time, so no call need know of it.
            Some(due) if K::BY_DUE => self.backlog.delay(&mut self.entries, slot, due),
            Some(due) => self.enter_later(slot, due),
        }
    }

    fn enter_later(&mut self, slot: Slot, due: Timestamp) {
        let arrival = due;
        planted!(DueArrivesAtItsPush => arrival = self.entries[slot].arrival);
        self.entries[slot].arrives(arrival);
        self.delay(slot, due);
    }

    /// Drops the next message to deliver, for want of room.
    pub(super) fn evict(&mut self) -> Option<StoredMessage> {
        planted!(EvictsTheLeased => self.end_a_lease());
        let first = self.backlog.first();
        planted!(EvictsTheNewest | EvictsTheDelayed => first = self.misevicted().or(first));
        let slot = first?;
        self.counters.evicted += 1;
        Some(self.withdraw(slot))
    }
}
