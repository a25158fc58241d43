//! The messages that a queue holds, each in a slot that does not change.

use std::{
    mem,
    ops::{Index, IndexMut},
    sync::Arc,
};

use bytes::Bytes;
use queue_core::{Headers, Message, MessageId, Push, Timestamp, Token};
use slab::Slab;

/// An entry's index in [`Entries`].
pub(crate) type Slot = u32;

/// An index in [`Holders`](super::holders::Holders): who holds a lease.
pub(crate) type Name = u32;

/// No slot: the end of a line.
pub(crate) const NONE: Slot = Slot::MAX;

/// A user's key, copied: the user's bytes may be a piece of a large buffer, which they would keep
/// alive.
pub(crate) type Key = Arc<[u8]>;

/// The room that an emptied structure keeps, in entries, so that a queue that is often empty does
/// not allocate again each time.
pub(crate) const KEPT: usize = 1024;

/// A message that is ready, delayed or leased.
#[derive(Debug)]
pub(crate) struct StoredMessage {
    pub(crate) id: MessageId,
    pub(crate) body: Bytes,
    pub(crate) headers: Headers,
    pub(crate) place: EntryPlace,
    /// The time from which it is ready.
    pub(crate) since: Timestamp,
    /// Its arrival, as ageing counts it (P4): the push or its due time, until a retry or a revival.
    pub(crate) arrival: Timestamp,
    /// The details of a message that was retried, revived or delayed by its push. Few messages are, so the
    /// others have no room for them.
    pub(crate) past: Option<Box<Past>>,
    /// The name of its group, on a grouped queue.
    pub(crate) group: Option<Key>,
    pub(crate) attempts: u32,
    /// Its neighbours, while it is in a line.
    pub(crate) before: Slot,
    pub(crate) after: Slot,
    pub(crate) priority: i16,
    /// Whether it holds a place of its group.
    pub(crate) holds: bool,
}

/// The history of a message.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    pub(crate) pushed: Timestamp,
    /// Why the last retry said that it failed (L14).
    pub(crate) failure: Option<String>,
    /// The state that a holder stored with the message (L21); empty for none.
    pub(crate) state: Bytes,
}

/// The place of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryPlace {
    /// Ready, in the order of joining or of ageing.
    Line,
    /// Ready, and before all others, because it came back by release or expiry.
    Returned,
    /// In the order of due times.
    Due(Timestamp),
    /// With a consumer.
    Leased {
        token: Token,
        deadline: Timestamp,
        /// The name of that consumer. It fits beside the enum's tag, so it costs no memory.
        holder: Name,
    },
}

impl StoredMessage {
    #[inline]
    pub(crate) fn new(id: MessageId, push: &Push, now: Timestamp) -> Self {
        Self::with(id, push.body.clone(), push.headers.clone(), now)
    }

    #[inline]
    pub(crate) fn with(id: MessageId, body: Bytes, headers: Headers, now: Timestamp) -> Self {
        Self {
            id,
            body,
            headers,
            place: EntryPlace::Line,
            since: now,
            arrival: now,
            past: None,
            group: None,
            attempts: 0,
            before: NONE,
            after: NONE,
            priority: 0,
            holds: false,
        }
    }

    #[inline]
    pub(crate) fn size(&self) -> usize {
        let state = self.past.as_ref().map_or(0, |past| past.state.len());
        self.body.len() + self.headers.size() + state
    }

    /// When it was pushed.
    pub(crate) fn pushed(&self) -> Timestamp {
        let past = self.past.as_ref();
        past.map_or(self.arrival, |past| past.pushed)
    }

    /// Why the last retry said that it failed (L14).
    #[inline]
    pub(crate) fn failure(&self) -> Option<String> {
        let past = self.past.as_ref();
        past.and_then(|past| past.failure.clone())
    }

    /// The state that a holder stored with the message (L21).
    #[inline]
    pub(crate) fn state(&self) -> Option<&Bytes> {
        let past = self.past.as_ref()?;
        (!past.state.is_empty()).then_some(&past.state)
    }

    fn past(&mut self) -> &mut Past {
        let pushed = self.pushed();
        self.past.get_or_insert_with(|| {
            Box::new(Past {
                pushed,
                failure: None,
                state: Bytes::new(),
            })
        })
    }

    /// Stores a state in place of the last one (L21).
    pub(crate) fn store(&mut self, state: Bytes) {
        planted!(EmptyStateKeepsTheLast => if state.is_empty() { return });
        self.past().state = state;
    }

    /// Sets another arrival, and keeps the time of the push.
    pub(crate) fn arrives(&mut self, arrival: Timestamp) {
        self.past();
        self.arrival = arrival;
    }

    /// Keeps the reason of a retry (L14), before its arrival is changed.
    pub(crate) fn failed(&mut self, failure: Option<&str>) {
        self.past().failure = failure.map(str::to_owned);
    }

    #[inline]
    pub(crate) fn is_leased(&self) -> bool {
        matches!(self.place, EntryPlace::Leased { .. })
    }

    pub(crate) fn message(&self) -> Message {
        Message::new(self.id, self.body.clone(), self.headers.clone())
    }
}

/// All entries of a queue.
#[derive(Debug, Default)]
pub(crate) struct Entries(Slab<StoredMessage>);

impl Entries {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn insert(&mut self, entry: StoredMessage) -> Slot {
        let slot = Slot::try_from(self.0.insert(entry)).unwrap_or(NONE);
        assert!(
            slot != NONE,
            "a queue in memory holds fewer than 2^32 messages"
        );
        slot
    }

    #[inline]
    pub(crate) fn remove(&mut self, slot: Slot) -> StoredMessage {
        if self.0.len() == 1 && self.0.capacity() > KEPT {
            return mem::take(&mut self.0).remove(slot as usize);
        }
        self.0.remove(slot as usize)
    }

    #[cfg(feature = "planted")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &StoredMessage)> {
        self.0.iter().map(|(slot, entry)| (slot as Slot, entry))
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl Index<Slot> for Entries {
    type Output = StoredMessage;

    #[inline]
    fn index(&self, slot: Slot) -> &StoredMessage {
        &self.0[slot as usize]
    }
}

impl IndexMut<Slot> for Entries {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut StoredMessage {
        &mut self.0[slot as usize]
    }
}

coded!(StoredMessage {
    id,
    body,
    headers,
    place,
    since,
    arrival,
    past,
    group,
    attempts,
    before,
    after,
    priority,
    holds
});
coded!(Past {
    pushed,
    failure,
    state
});
coded!(enum EntryPlace { 0 => Line; 1 => Returned; 2 => Due(due); 3 => Leased { token, deadline, holder }; });
coded!(Entries { 0 });

#[cfg(test)]
mod tests {
    use super::*;

    /// Each message of a long queue costs this, whether anything uses all of it or not.
    #[test]
    fn an_entry_is_no_larger_than_two_lines_of_a_cache() {
        assert!(
            size_of::<StoredMessage>() <= 128,
            "{} bytes",
            size_of::<StoredMessage>()
        );
    }
}
