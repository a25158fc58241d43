//! Distinct keys (B7).

use std::{collections::HashMap, sync::Arc};

use queue_core::{Distinct, MessageId, Timestamp, millis_ceil};

use super::entry::{KEPT, Key};

/// The distinct keys and the messages that hold them.
#[derive(Debug, Default)]
pub(crate) struct DistinctKeys {
    // By the standard hasher: the keys may come from strangers.
    owners: HashMap<Key, MessageId>,
    held: HashMap<MessageId, Held>,
}

#[derive(Debug)]
struct Held {
    key: Key,
    /// The first push of the messages that replaced each other, if this one has a longest wait.
    began: Option<Timestamp>,
}

impl DistinctKeys {
    /// The message that holds a key.
    #[inline]
    pub(crate) fn owner(&self, key: &[u8]) -> Option<MessageId> {
        self.owners.get(key).copied()
    }

    /// The first push of the messages that the next one under this key replaces, if they have a longest wait.
    pub(crate) fn began(&self, owner: MessageId) -> Option<Timestamp> {
        self.held.get(&owner)?.began
    }

    /// Gives a key to a message. The message that held it becomes an ordinary one.
    pub(crate) fn pass(&mut self, distinct: &Distinct, id: MessageId, began: Timestamp) {
        let key: Key = Arc::from(&distinct.key[..]);
        if let Some(before) = self.owners.insert(Arc::clone(&key), id) {
            self.held.remove(&before);
        }
        let kept = distinct.longest.map(|_| began);
        planted!(ChainNeverEnds => kept = Some(began));
        self.held.insert(id, Held { key, began: kept });
    }

    /// Frees the key of a message that is gone or dead.
    #[inline]
    pub(crate) fn done(&mut self, id: MessageId) {
        if !self.held.is_empty() {
            self.free(id);
        }
    }

    fn free(&mut self, id: MessageId) {
        if let Some(held) = self.held.remove(&id) {
            self.owners.remove(&held.key);
        }
        if self.held.is_empty() && self.held.capacity() > KEPT {
            *self = Self::default();
        }
    }

    /// The key that a message holds.
    #[cfg(feature = "planted")]
    pub(crate) fn key_of(&self, id: MessageId) -> Option<Key> {
        self.held.get(&id).map(|held| Arc::clone(&held.key))
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        assert_eq!(self.owners.len(), self.held.len());
        self.owners.len()
    }
}

/// When a message is due that has a longest wait: as its push says, but no later than that wait after the first push.
pub(crate) fn at_latest(due: Timestamp, distinct: &Distinct, began: Timestamp) -> Timestamp {
    match distinct.longest {
        Some(longest) => due.min(began.plus_millis(millis_ceil(longest))),
        None => due,
    }
}

coded!(DistinctKeys { owners, held });
coded!(Held { key, began });
