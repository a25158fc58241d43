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

    #[inline]
    fn push_one(&mut self, push: &Push, now: Timestamp) -> Pushed {
        let is_full = self.entries.len() >= self.capacity;
        planted!(CapacityOffByOne => is_full = self.entries.len() > self.capacity);
        let asks = push.dedup.is_some() | push.distinct.is_some() | push.time_to_live.is_some();
        if is_full | asks {
            return self.decide(push, is_full, now);
        }
        let (id, slot) = self.accept(push, now);
        self.enter(slot, push.due.map(|due| due.resolve(now)), now);
        Pushed::Accepted(id)
    }

    /// Decides in this order: a duplicate, a replacement, room, the policy without room.
    #[inline(never)] // The path of most pushes is shorter without it.
    fn decide(&mut self, push: &Push, is_full: bool, now: Timestamp) -> Pushed {
        let first = self.duplicate_of(push, now);
        planted!(FullBeforeDuplicate => first = first.filter(|_| !is_full));
        if let Some(first) = first {
            planted!(DuplicateExtendsTheMark => self.mark(push, first, now));
            return Pushed::Duplicate(first);
        }
        planted!(CancelKeepsTheKey =>
            if let Some(replaced) = self.replace_the_gone(push, now) { return replaced });
        let replaceable = self.replaceable(push);
        let mut began = now;
        let mut evicted = None;
        if let Some((_slot, first)) = replaceable {
            planted!(ReplacedIsDelivered => return self.add_beside(push, _slot, now));
            planted!(ReplacementTakesThePlace => return self.replace_in_place(push, _slot, now));
            planted!(ReplacedKeepsItsPlace => self.entries[_slot].holds = false);
            planted!(ChainForgetsItsStart => first = None);
            began = first.unwrap_or(now);
        } else if is_full {
            evicted = self.make_room(push);
            if evicted.is_none() {
                planted!(RefusalLeavesAMark => self.mark(push, MessageId::new(1), now));
                return Pushed::Full;
            }
        }
        let id = self.add(push, began, now);
        if let Some((slot, _)) = replaceable {
            // After the other was added: so its group keeps its turn, because it is never empty.
            let replaced = self.withdraw(slot).id;
            self.counters.replaced += 1;
            return Pushed::Replaced { id, replaced };
        }
        match evicted {
            Some(evicted) => Pushed::Evicted { id, evicted },
            None => Pushed::Accepted(id),
        }
    }

    /// Drops a message of a full queue, if this push says so.
    fn make_room(&mut self, push: &Push) -> Option<MessageId> {
        match push.overflow {
            Overflow::DropOldest => self.evict().map(|entry| entry.id),
            // A policy of a later version gets no room until this names it.
            _ => None,
        }
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

    /// Gives a message its id and a slot; the caller puts it into the backlog.
    #[inline]
    fn accept(&mut self, push: &Push, now: Timestamp) -> (MessageId, Slot) {
        self.last_id += 1;
        let id = MessageId::new(self.last_id);
        self.counters.accepted += 1;
        let mut message = StoredMessage::new(id, push, now);
        K::set(&mut message, push);
        (id, self.keep(message))
    }

    /// Accepts a message. `began` is the first push of the messages that replaced each other.
    pub(super) fn add(&mut self, push: &Push, began: Timestamp, now: Timestamp) -> MessageId {
        let (id, slot) = self.accept(push, now);
        self.mark(push, id, now);
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
