//! Finding a message by its id.

use std::collections::{HashMap, VecDeque};

use queue_core::MessageId;

use super::entry::{KEPT, NONE, Slot};

/// Slots by id.
///
/// Ids count up, so the slots of new messages are side by side, and the id gives the place. A message that
/// stays long after its neighbours would keep their empty places: it moves to a map. A revived message, which
/// has an old id, goes to the map, too.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// The id of the first place.
    first: u64,
    recent: VecDeque<Slot>,
    /// How many of the places have a slot.
    taken: usize,
    /// The slots of the other messages.
    old: HashMap<u64, Slot>,
}

impl Index {
    #[inline]
    pub(crate) fn get(&self, id: MessageId) -> Option<Slot> {
        match self.place(id) {
            Some(place) => Some(self.recent[place]).filter(|slot| *slot != NONE),
            None => self.old.get(&id.get()).copied(),
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, id: MessageId, slot: Slot) {
        if self.recent.is_empty() && id.get() >= self.first {
            self.first = id.get();
        }
        if id.get() == self.first + self.recent.len() as u64 {
            self.recent.push_back(slot);
            self.taken += 1;
        } else if let Some(place) = self.place(id) {
            // A revived message whose place is still there.
            self.recent[place] = slot;
            self.taken += 1;
        } else {
            self.old.insert(id.get(), slot);
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: MessageId) -> Option<Slot> {
        let Some(place) = self.place(id) else {
            let slot = self.old.remove(&id.get());
            if self.old.is_empty() && self.old.capacity() > 2 * KEPT {
                self.old = HashMap::new();
            }
            return slot;
        };
        let slot = std::mem::replace(&mut self.recent[place], NONE);
        if slot == NONE {
            return None;
        }
        self.taken -= 1;
        self.close_up();
        Some(slot)
    }

    #[inline]
    fn place(&self, id: MessageId) -> Option<usize> {
        let place = usize::try_from(id.get().checked_sub(self.first)?).ok()?;
        (place < self.recent.len()).then_some(place)
    }

    /// Removes the first places while they are empty. While most places are empty, moves the first messages
    /// to the map.
    #[inline]
    fn close_up(&mut self) {
        while let Some(&slot) = self.recent.front() {
            if slot != NONE {
                if self.recent.len() <= 4 * self.taken + KEPT {
                    break;
                }
                self.old.insert(self.first, slot);
                self.taken -= 1;
            }
            self.recent.pop_front();
            self.first += 1;
        }
        if self.recent.is_empty() && self.recent.capacity() > 2 * KEPT {
            self.recent = VecDeque::new();
        }
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.recent.capacity() + self.old.capacity()
    }
}

coded!(Index {
    first,
    recent,
    taken,
    old
});

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a map: messages that leave in order, at random, late, and that come again.
    #[test]
    fn it_is_a_map_while_messages_come_and_go() {
        let (mut index, mut naive) = (Index::default(), HashMap::new());
        let mut random = 7_u64;
        let mut below = |limit: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % limit
        };
        for id in 1..=60_000_u64 {
            let slot = below(1_000_000) as Slot;
            index.insert(MessageId::new(id), slot);
            naive.insert(id, slot);
            // Every hundredth stays.
            for old in [id.saturating_sub(below(2_000)), id.saturating_sub(2_000)] {
                if old % 100 != 0 {
                    index.remove(MessageId::new(old));
                    naive.remove(&old);
                }
            }
            if below(500) == 0 {
                let again = id - below(id);
                index.remove(MessageId::new(again));
                index.insert(MessageId::new(again), slot);
                naive.insert(again, slot);
            }
            let asked = below(id + 2);
            let found = index.get(MessageId::new(asked));
            assert_eq!(found, naive.get(&asked).copied(), "{asked} at {id}");
        }
        assert!(index.recent.len() <= 4 * index.taken + KEPT);
        for id in naive.into_keys() {
            index.remove(MessageId::new(id));
        }
        assert_eq!(
            (index.recent.len(), index.taken, index.old.len()),
            (0, 0, 0)
        );
        assert!(index.capacity() <= 4 * KEPT);
    }

    fn filled(ids: impl Iterator<Item = u64>) -> Index {
        let mut index = Index::default();
        for id in ids {
            index.insert(MessageId::new(id), id as Slot);
        }
        index
    }

    /// The map costs more, in time and in memory.
    #[test]
    fn only_what_stays_behind_many_that_are_gone_moves_to_the_map() {
        const MANY: u64 = 10 * KEPT as u64;
        let mut index = filled(1..=MANY);
        for id in (2..=MANY).step_by(2) {
            index.remove(MessageId::new(id));
        }
        index.remove(MessageId::new(1));
        assert_eq!(index.old.len(), 0, "half of them are there");
        for id in (4..MANY).filter(|id| id % 10 != 3) {
            index.remove(MessageId::new(id));
        }
        assert!(index.old.len() > 100, "{} of a tenth", index.old.len());
        assert_eq!(index.get(MessageId::new(3)), Some(3));
    }

    #[test]
    fn a_large_map_is_small_once_it_is_empty_and_not_sooner() {
        const MANY: u64 = 4 * KEPT as u64;
        let mut index = filled([MANY].into_iter().chain(1..MANY));
        assert_eq!(index.old.len() as u64, MANY - 1);
        for id in 2..MANY {
            index.remove(MessageId::new(id));
        }
        assert_eq!(index.get(MessageId::new(1)), Some(1));
        index.remove(MessageId::new(1));
        assert!(index.old.capacity() <= 2 * KEPT);
    }
}
