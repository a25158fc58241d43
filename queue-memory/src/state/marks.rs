//! Dedup marks (L9).

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use queue_core::{Dedup, MessageId, Timestamp, limits, millis_ceil};

use super::entry::{KEPT, Key};

/// The keys of pushes with a window, until the window is over.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    // By the standard hasher: the keys may come from strangers.
    keys: HashMap<Key, Mark>,
    ends: BTreeMap<(Timestamp, MessageId), Key>,
    /// The keys of marks that end with their messages.
    uniques: HashMap<MessageId, Key>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The first message under the key.
    id: MessageId,
    /// Live while now is before this.
    end: Timestamp,
}

impl Marks {
    /// The number of marks, including ended ones that are not cleared away yet.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The first message under this key, if its mark is live.
    #[inline]
    pub(crate) fn find(&self, key: &[u8], now: Timestamp) -> Option<MessageId> {
        let mark = self.keys.get(key)?;
        (now < mark.end).then_some(mark.id)
    }

    /// Marks a key that has no live mark; returns the mark's end.
    pub(crate) fn set(&mut self, dedup: &Dedup, id: MessageId, now: Timestamp) -> Timestamp {
        let key: Key = Arc::from(&dedup.key[..]);
        let end = now.plus_millis(millis_ceil(dedup.window));
        if let Some(ended) = self.keys.insert(Arc::clone(&key), Mark { id, end }) {
            self.ends.remove(&(ended.end, ended.id));
            self.uniques.remove(&ended.id);
        }
        let until_done = dedup.until_done;
        planted!(UniqueOutlivesItsMessage => until_done = false);
        planted!(MarksEndWithTheirMessages => until_done = true);
        if until_done {
            self.uniques.insert(id, Arc::clone(&key));
        }
        self.ends.insert((end, id), key);
        end
    }

    /// Ends the mark of a message that is done, if the mark ends with its message.
    #[inline]
    pub(crate) fn done(&mut self, id: MessageId) {
        if !self.uniques.is_empty() {
            self.end_unique(id);
        }
    }

    fn end_unique(&mut self, id: MessageId) {
        let key = self.uniques.remove(&id);
        if let Some(mark) = key.and_then(|key| self.keys.remove(&key)) {
            self.ends.remove(&(mark.end, mark.id));
        }
    }

    /// The end of the next mark.
    pub(crate) fn first_end(&self) -> Option<Timestamp> {
        let ((end, _), _) = self.ends.first_key_value()?;
        Some(*end)
    }

    /// Clears away ended marks, at most as many as one call can add.
    pub(crate) fn clear_ended(&mut self, now: Timestamp) {
        for _ in 0..limits::MAX_BATCH {
            let Some(first) = self.ends.first_entry().filter(|first| first.key().0 <= now) else {
                break;
            };
            if let Some(mark) = self.keys.remove(&first.remove()) {
                self.uniques.remove(&mark.id);
            }
        }
        if self.keys.is_empty() && self.keys.capacity() > 2 * KEPT {
            self.keys = HashMap::new();
            self.uniques = HashMap::new();
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.keys.capacity().max(self.uniques.capacity())
    }
}

coded!(Marks {
    keys,
    ends,
    uniques
});
coded!(Mark { id, end });
