//! Ending messages whose time to live is over (L17).

use queue_core::{DeathReason, MessageId, Outdated, Push, Timestamp, limits};

use super::{backlog::Backlog, entry::Slot, kind::Kind, leasing::LeasingState};

impl<K: Kind> LeasingState<K> {
    /// Sets the end that a push asks for.
    #[inline]
    pub(super) fn limit(&mut self, push: &Push, id: MessageId, slot: Slot, now: Timestamp) {
        let time_to_live = push.time_to_live;
        planted!(OutdatedIsDelivered => time_to_live = None);
        if let Some(time_to_live) = time_to_live {
            let end = self.ends.set(id, slot, time_to_live, now);
            self.expect(end);
        }
    }

    /// Notes that a message is undelivered again, so that its time to live can end it.
    #[inline]
    pub(super) fn came_back(&mut self, slot: Slot) {
        if let Some(end) = self.ends.came_back(self.entries[slot].id, slot) {
            self.expect(end);
        }
    }

    /// Ends outdated messages, at most 128 (L7).
    #[inline]
    pub(super) fn end_outdated(&mut self, now: Timestamp) {
        for _ in 0..limits::MAX_BATCH {
            let Some(slot) = self.ends.first_outdated(now) else {
                break;
            };
            planted!(LeasedIsEnded => self.take_back(self.entries[slot].id));
            self.end(slot, now);
        }
    }

    /// Drops or buries an undelivered message.
    fn end(&mut self, slot: Slot, now: Timestamp) {
        let then = self.ends.then(self.entries[slot].id);
        planted!(BuriedIsDropped => then = Some(Outdated::Drop));
        if then == Some(Outdated::Bury) {
            // Before its group might be empty.
            self.backlog.dies(&self.entries[slot]);
            self.backlog.remove(&mut self.entries, slot);
            self.die(slot, DeathReason::Outdated, now);
        } else {
            self.withdraw(slot);
            self.counters.outdated += 1;
        }
    }
}
