//! Ending messages whose time to live is over (L17).

use queue_core::{DeathReason, MessageId, Outdated, Push, Timestamp, limits};

use super::{backlog::Backlog, entry::Slot, kind::Kind, leasing::State};

impl<K: Kind> State<K> {
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

    /// Notes that a message is undelivered again, so that its end concerns it.
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
        self.backlog.remove(&mut self.entries, slot);
        if then == Some(Outdated::Bury) {
            self.die(slot, DeathReason::Outdated, now);
        } else {
            self.forget(slot);
            self.counters.outdated += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queue_core::{ReliableConfig, Settled, Settlement, TimeToLive};

    use super::*;
    use crate::state::{Openable, Reliable};

    const LIMIT: Duration = Duration::from_millis(10);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn state() -> State<Reliable> {
        State::<Reliable>::create(&ReliableConfig::default())
    }

    #[test]
    fn nothing_is_handed_out_while_an_outdated_message_is_left() {
        let mut state = state();
        let brief = Push::new("brief").with_time_to_live(TimeToLive::drop_after(LIMIT));
        let batch = vec![brief; limits::MAX_BATCH];
        state.push(at(1), &batch);
        state.push(at(1), &batch);
        state.push(at(1), &[Push::new("lasting")]);
        let first = state.lease(at(11), 1, 5, None);
        assert!(first.is_empty());
        assert_eq!(first.next, Some(Duration::ZERO));
        assert_eq!(state.counters.outdated, limits::MAX_BATCH as u64);
        let second = state.lease(at(11), 1, 5, None);
        assert_eq!(second.deliveries[0].body, "lasting");
        assert_eq!(state.counters.outdated, 2 * limits::MAX_BATCH as u64);
        assert_eq!(state.ends.len(), (0, 0));
    }

    #[test]
    fn a_leased_message_ends_when_it_comes_back() {
        let mut state = state();
        let brief = Push::new("brief").with_time_to_live(TimeToLive::bury_after(LIMIT));
        state.push(at(1), &[brief]);
        let receipt = state.lease(at(1), 1, 50, None).deliveries[0].receipt;
        assert_eq!(state.depth(at(30)).leased, 1);
        let (settled, leased) = state.turn(at(30), &[Settlement::release(receipt)], 1, 50, None);
        assert_eq!(settled, [Settled::Done]);
        assert!(leased.is_empty());
        assert_eq!(leased.next, None);
        assert_eq!(state.depth(at(30)).dead, 1);
        assert_eq!((state.counters.died, state.counters.outdated), (1, 0));
    }
}
