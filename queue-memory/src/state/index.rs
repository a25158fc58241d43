//! Finding a message by its id.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use queue_core::MessageId;

use super::entry::{KEPT, Slot};

/// The slots of all messages or items, by id.
#[derive(Debug, Default)]
pub(crate) struct Index(HashMap<u64, Slot, BuildHasherDefault<IdHasher>>);

impl Index {
    #[inline]
    pub(crate) fn get(&self, id: MessageId) -> Option<Slot> {
        self.0.get(&id.get()).copied()
    }

    #[inline]
    pub(crate) fn insert(&mut self, id: MessageId, slot: Slot) {
        self.0.insert(id.get(), slot);
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: MessageId) -> Option<Slot> {
        let slot = self.0.remove(&id.get());
        if self.0.is_empty() && self.0.capacity() > 2 * KEPT {
            self.0 = HashMap::default();
        }
        slot
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

/// Keeps sixteen consecutive ids together and scatters the sixteens.
///
/// Ids come and go nearly in sequence, so with a million of them most find their place in a cache
/// line that the one before has fetched. Scattering the sixteens keeps ids at regular distances,
/// which a user's habits may leave, from colliding. The queue assigns the ids, so no attacker can
/// choose them.
#[derive(Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    #[inline]
    fn write_u64(&mut self, id: u64) {
        let scattered = (id >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A table takes the place from the low bits, and tells colliding keys apart by the top
        // seven; a product is well mixed in its upper half only.
        let place = scattered.rotate_left(32) & !15;
        self.0 = (place | (id & 15)) ^ (id << 57);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((self.0 << 8) ^ u64::from(*byte));
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
