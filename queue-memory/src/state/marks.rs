//! Dedup marks (L9).

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use queue_core::{Dedup, MessageId, Timestamp, limits, millis_ceil};

use super::entry::{KEPT, Key};

/// The keys of pushes with a window, until it is over.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    // By the standard hasher: the keys may come from strangers.
    keys: HashMap<Key, Mark>,
    ends: BTreeMap<(Timestamp, MessageId), Key>,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    /// The first message under the key.
    id: MessageId,
    /// Live while now is before this.
    end: Timestamp,
}

impl Marks {
    /// The number of marks, with those that have ended and are not cleared away yet.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The first message under this key, if its mark is live.
    #[inline]
    pub(crate) fn find(&self, key: &[u8], now: Timestamp) -> Option<MessageId> {
        let mark = self.keys.get(key)?;
        (now < mark.end).then_some(mark.id)
    }

    /// Marks a key that has no live mark; answers the mark's end.
    pub(crate) fn set(&mut self, dedup: &Dedup, id: MessageId, now: Timestamp) -> Timestamp {
        let key: Key = Arc::from(&dedup.key[..]);
        let end = now.plus_millis(millis_ceil(dedup.window));
        if let Some(ended) = self.keys.insert(Arc::clone(&key), Mark { id, end }) {
            self.ends.remove(&(ended.end, ended.id));
        }
        self.ends.insert((end, id), key);
        end
    }

    /// The end of the next mark.
    pub(crate) fn first_end(&self) -> Option<Timestamp> {
        let ((end, _), _) = self.ends.first_key_value()?;
        Some(*end)
    }

    /// Clears away ended marks, at most as many as one call can add.
    pub(crate) fn clear_ended(&mut self, now: Timestamp) {
        for _ in 0..limits::MAX_BATCH {
            match self.ends.first_entry() {
                Some(first) if first.key().0 <= now => self.keys.remove(&first.remove()),
                _ => break,
            };
        }
        if self.keys.is_empty() && self.keys.capacity() > 2 * KEPT {
            self.keys = HashMap::new();
        }
    }
}
