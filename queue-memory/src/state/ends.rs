//! The ends of times to live (L17).

use std::collections::HashMap;

use queue_core::{MessageId, Outdated, TimeToLive, Timestamp, millis_ceil};

use super::{
    entry::{KEPT, Slot},
    timeline::Timeline,
};

/// The messages that have a time to live. Most queues have none, so each method looks for that
/// first.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// When each one's time is over, and what becomes of it then.
    pub(super) by_id: HashMap<MessageId, (Timestamp, Outdated)>,
    /// The undelivered ones, by end.
    undelivered: Timeline,
}

impl Ends {
    /// Notes a new message's end, and returns it.
    pub(crate) fn set(
        &mut self,
        id: MessageId,
        slot: Slot,
        time_to_live: TimeToLive,
        now: Timestamp,
    ) -> Timestamp {
        let end = now.plus_millis(millis_ceil(time_to_live.limit));
        self.by_id.insert(id, (end, time_to_live.then));
        self.undelivered.insert(end, id, slot);
        end
    }

    /// This message is leased: its end does not concern it.
    #[inline]
    pub(crate) fn held(&mut self, id: MessageId) {
        if self.by_id.is_empty() {
            return;
        }
        planted!(LeasedIsEnded => return);
        if let Some((end, _)) = self.by_id.get(&id) {
            self.undelivered.remove(*end, id);
        }
    }

    /// Notes that a message came back from its lease. Returns its end.
    #[inline]
    pub(crate) fn came_back(&mut self, id: MessageId, slot: Slot) -> Option<Timestamp> {
        if self.by_id.is_empty() {
            return None;
        }
        planted!(OutdatedStaysAfterReturn | LeasedIsEnded => return None);
        let (end, _) = *self.by_id.get(&id)?;
        self.undelivered.insert(end, id, slot);
        Some(end)
    }

    /// This message is done: nothing will end it.
    #[inline]
    pub(crate) fn done(&mut self, id: MessageId) {
        if self.by_id.is_empty() {
            return;
        }
        if let Some((end, _)) = self.by_id.remove(&id) {
            self.undelivered.remove(end, id);
            if self.by_id.is_empty() && self.by_id.capacity() > 2 * KEPT {
                self.by_id = HashMap::new();
            }
        }
    }

    /// The first end of an undelivered message.
    #[inline]
    pub(crate) fn first_end(&self) -> Option<Timestamp> {
        if self.by_id.is_empty() {
            return None;
        }
        self.undelivered.first_time()
    }

    /// The first undelivered message whose time is over.
    #[inline]
    pub(crate) fn first_outdated(&self, now: Timestamp) -> Option<Slot> {
        if self.by_id.is_empty() {
            return None;
        }
        let (end, slot) = self.undelivered.first()?;
        (end <= now).then_some(slot)
    }

    /// How this message ends after its time to live, if it has one.
    pub(crate) fn then(&self, id: MessageId) -> Option<Outdated> {
        self.by_id.get(&id).map(|(_, then)| *then)
    }

    /// The rest of this message's time to live, if it has one.
    pub(crate) fn left(&self, id: MessageId, now: Timestamp) -> Option<TimeToLive> {
        let (end, then) = *self.by_id.get(&id)?;
        let limit = end.since(now);
        Some(TimeToLive { limit, then })
    }

    /// How many messages have a time to live, and how many of those are undelivered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.by_id.len(), self.undelivered.len())
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.by_id.capacity().max(self.undelivered.capacity())
    }
}

coded!(Ends { by_id, undelivered });
