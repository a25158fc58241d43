//! Messages in the order of a key that mostly grows, side by side in memory as long as new ones
//! join at the end.

use std::collections::VecDeque;

use super::entry::{KEPT, NONE, Slot};

/// Slots by ascending key.
///
/// Leaving from the front and joining at the end cost a step; leaving from the middle costs a
/// search and leaves a gap. The first is never a gap, and there are never many more gaps than
/// slots.
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
            // The last slot comes back into the gap that it left.
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
