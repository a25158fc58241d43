//! Messages in the order of a key that mostly grows, side by side in memory as long as new ones
//! join at the end.

use std::collections::VecDeque;

use super::entry::{KEPT, NONE, Slot};
#[cfg(feature = "journal")]
use crate::coded::Coded;

/// Slots by ascending key.
///
/// Leaving from the front and joining at the end cost a step. Leaving from the middle costs a search and
/// leaves a gap. The first slot is never a gap, and there are never many more gaps than slots.
#[derive(Debug)]
pub(crate) struct SortedSlots<K> {
    cells: VecDeque<(K, Slot)>,
    gaps: usize,
}

impl<K> Default for SortedSlots<K> {
    fn default() -> Self {
        Self {
            cells: VecDeque::new(),
            gaps: 0,
        }
    }
}

impl<K: Ord + Copy> SortedSlots<K> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.cells.len() - self.gaps
    }

    /// Appends a slot, if its key is after all others.
    #[inline]
    pub(crate) fn push(&mut self, key: K, slot: Slot) -> bool {
        match self.cells.back_mut() {
            Some((last, _)) if *last > key => return false,
            // The last slot returns to the gap that it left.
            Some((last, gap)) if *last == key => {
                *gap = slot;
                self.gaps -= 1;
            }
            _ => self.cells.push_back((key, slot)),
        }
        true
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<(K, Slot)> {
        self.cells.front().copied()
    }

    /// Takes the slot with this key out, if it is there.
    #[inline]
    pub(crate) fn remove(&mut self, key: K) -> bool {
        match self.cells.front() {
            Some((first, _)) if *first == key => {
                self.pop();
                true
            }
            Some((first, _)) if *first < key => self.remove_later(key),
            _ => false,
        }
    }

    fn remove_later(&mut self, key: K) -> bool {
        let Ok(place) = self.cells.binary_search_by_key(&key, |(key, _)| *key) else {
            return false;
        };
        if std::mem::replace(&mut self.cells[place].1, NONE) == NONE {
            return false;
        }
        self.gaps += 1;
        if self.gaps > KEPT && self.gaps > self.cells.len() / 2 {
            self.cells.retain(|(_, slot)| *slot != NONE);
            self.cells.shrink_to(KEPT.max(2 * self.cells.len()));
            self.gaps = 0;
        }
        true
    }

    /// Takes the first, and the gaps behind it.
    #[inline]
    pub(crate) fn pop(&mut self) {
        self.cells.pop_front();
        while let Some((_, NONE)) = self.cells.front() {
            self.cells.pop_front();
            self.gaps -= 1;
        }
        if self.cells.is_empty() && self.cells.capacity() > KEPT {
            self.cells = VecDeque::new();
        }
    }

    /// The slots whose keys are after this one.
    pub(crate) fn after(&self, key: K) -> impl Iterator<Item = (K, Slot)> + '_ {
        let start = self.cells.partition_point(|(each, _)| *each <= key);
        let rest = self.cells.range(start..).copied();
        rest.filter(|(_, slot)| *slot != NONE)
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.cells.capacity()
    }
}

coded!(where K: Coded, SortedSlots<K> { cells, gaps });

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: usize = 10 * KEPT;

    fn filled(keys: usize) -> SortedSlots<usize> {
        let mut slots = SortedSlots::default();
        for key in 0..keys {
            assert!(slots.push(key, key as Slot));
        }
        slots
    }

    fn keys(slots: &SortedSlots<usize>) -> Vec<usize> {
        // Every key of these tests is above 0, the front one apart.
        slots
            .first()
            .into_iter()
            .chain(slots.after(0))
            .map(|(key, _)| key)
            .collect()
    }

    #[test]
    fn gaps_are_closed_before_they_are_many_more_than_slots() {
        let mut slots = filled(MANY);
        for key in 1..MANY - 2 {
            assert!(slots.remove(key), "{key}");
            assert!(slots.gaps <= slots.len() + KEPT + 1, "{}", slots.gaps);
        }
        assert_eq!(slots.len(), 3);
        assert_eq!(keys(&slots), [0, MANY - 2, MANY - 1]);
        assert!(slots.capacity() <= 4 * KEPT, "{}", slots.capacity());
    }

    #[test]
    fn the_last_comes_back_into_its_gap() {
        let mut slots = filled(4);
        assert!(slots.remove(3));
        assert!(!slots.push(2, 9), "a gap keeps its key");
        assert!(slots.push(3, 9));
        assert_eq!((slots.len(), slots.cells.len()), (4, 4));
        assert!(slots.remove(3));
        assert_eq!(keys(&slots), [0, 1, 2]);
    }

    #[test]
    fn emptied_slots_free_their_memory() {
        let mut slots = filled(MANY);
        for _ in 0..MANY {
            slots.pop();
        }
        assert_eq!((slots.len(), slots.first()), (0, None));
        assert!(slots.capacity() <= KEPT);
    }
}
