//! Accepting messages.

use queue_core::{MessageId, Push, Pushed, Timestamp};

use super::{
    backlog::Backlog,
    entry::{Past, Slot, StoredMessage},
    kind::Kind,
    leasing::LeasingState,
};

impl<K: Kind> LeasingState<K> {
    /// Accepts a message unless it is a duplicate; `place` puts it into the backlog.
    #[inline]
    pub(super) fn admit(
        &mut self,
        push: &Push,
        now: Timestamp,
        place: impl FnOnce(&mut Self, Slot),
    ) -> Pushed {
        if let Some(first) = self.duplicate_of(push, now) {
            planted!(DuplicateExtendsTheMark => self.mark(push, first, now));
            return Pushed::Duplicate(first);
        }
        let (id, slot) = self.accept(push, now);
        place(self, slot);
        Pushed::Accepted(id)
    }

    /// The message whose live mark makes this push a duplicate (L9).
    #[inline]
    pub(super) fn duplicate_of(&self, push: &Push, now: Timestamp) -> Option<MessageId> {
        self.marks.find(&push.dedup.as_ref()?.key, now)
    }

    /// Gives a message its id and a slot; the caller puts it into the backlog.
    #[inline]
    pub(super) fn accept(&mut self, push: &Push, now: Timestamp) -> (MessageId, Slot) {
        self.last_id += 1;
        let id = MessageId::new(self.last_id);
        self.mark(push, id, now);
        self.counters.accepted += 1;
        let slot = self.keep(StoredMessage::new(id, push, now));
        self.limit(push, id, slot, now);
        (id, slot)
    }

    /// Sets the dedup mark that a push asks for.
    #[inline]
    pub(super) fn mark(&mut self, push: &Push, id: MessageId, now: Timestamp) {
        if let Some(dedup) = &push.dedup {
            let end = self.marks.set(dedup, id, now);
            self.expect(end);
        }
    }

    /// Puts an accepted message at the tail of the ready, or delays it until the due time that its
    /// push asks for (D1).
    #[inline]
    pub(super) fn enter(&mut self, slot: Slot, push: &Push, now: Timestamp) {
        let due = push.due.map(|due| due.resolve(now));
        // A due time that is over changes nothing, not even the place in the batch.
        let due = due.filter(|due| *due > now);
        planted!(DueIsIgnored => due = None);
        match due {
            None => self.backlog.join(&mut self.entries, slot, now),
            Some(due) => self.enter_later(slot, now, due),
        }
    }

    fn enter_later(&mut self, slot: Slot, now: Timestamp, due: Timestamp) {
        let arrival = due;
        planted!(DueArrivesAtItsPush => arrival = now);
        let entry = &mut self.entries[slot];
        entry.past = Some(Box::new(Past {
            pushed: now,
            failure: None,
        }));
        entry.arrival = arrival;
        self.delay(slot, due);
    }
}
