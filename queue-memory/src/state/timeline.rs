//! Messages by a time: leases' deadlines, or delayed messages' due times.

use std::{
    collections::BTreeMap,
    iter,
    ops::Bound::{Excluded, Included, Unbounded},
};

use queue_core::{MessageId, Timestamp};

use super::{entry::Slot, sorted_slots::SortedSlots};

type TimeKey = (Timestamp, MessageId);

/// Before all messages, whose ids start at 1.
const START: TimeKey = (Timestamp::from_millis(0), MessageId::new(0));
const LAST: MessageId = MessageId::new(u64::MAX);

/// Messages in the order of (time, id).
///
/// Most times come in order, because most leases and most delays have the same length. They go into a sorted
/// run; the others go into a tree.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    run: SortedSlots<TimeKey>,
    tree: BTreeMap<TimeKey, Slot>,
    /// The number of messages not after `mark`, so that repeated counting passes each message once.
    passed: usize,
    mark: Timestamp,
}

impl Timeline {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.run.len() + self.tree.len()
    }

    #[inline]
    pub(crate) fn insert(&mut self, time: Timestamp, id: MessageId, slot: Slot) {
        let key = (time, id);
        self.passed += usize::from(time <= self.mark);
        if !self.run.push(key, slot) {
            self.tree.insert(key, slot);
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, time: Timestamp, id: MessageId) {
        let key = (time, id);
        if self.run.remove(key) || self.tree.remove(&key).is_some() {
            self.passed -= usize::from(time <= self.mark);
        }
    }

    /// The first message, and its time.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Timestamp, Slot)> {
        let run = self.run.first();
        if self.tree.is_empty() {
            return run.map(|((time, _), slot)| (time, slot));
        }
        let tree = self.tree.first_key_value().map(|(key, slot)| (*key, *slot));
        let ((time, _), slot) = run.into_iter().chain(tree).min()?;
        Some((time, slot))
    }

    #[inline]
    pub(crate) fn first_time(&self) -> Option<Timestamp> {
        self.first().map(|(time, _)| time)
    }

    /// Takes out the first message if its time has come.
    pub(crate) fn pop_until(&mut self, now: Timestamp) -> Option<(Timestamp, Slot)> {
        let (time, slot) = self.first()?;
        if time > now {
            return None;
        }
        self.passed -= usize::from(time <= self.mark);
        match self.run.first() {
            Some((_, first)) if first == slot => self.run.pop(),
            _ => drop(self.tree.pop_first()),
        }
        Some((time, slot))
    }

    /// The number of messages whose time has come. `now` never goes back.
    pub(crate) fn count_until(&mut self, now: Timestamp) -> usize {
        if now > self.mark {
            let (from, to) = ((self.mark, LAST), (now, LAST));
            let tree = self.tree.range((Excluded(from), Included(to))).count();
            let run = self.run.after(from).take_while(|(key, _)| *key <= to);
            self.passed += tree + run.count();
            self.mark = now;
        }
        self.passed
    }

    /// All messages, in order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.after(START).map(|(_, slot)| slot)
    }

    /// The messages whose time has come, in order.
    pub(crate) fn slots_until(&self, now: Timestamp) -> impl Iterator<Item = Slot> + '_ {
        let come = self.after(START).take_while(move |(key, _)| key.0 <= now);
        come.map(|(_, slot)| slot)
    }

    /// The messages whose time has not come, in order.
    pub(crate) fn slots_after(&self, now: Timestamp) -> impl Iterator<Item = Slot> + '_ {
        self.after((now, LAST)).map(|(_, slot)| slot)
    }

    /// The messages after this key, in order.
    fn after(&self, key: TimeKey) -> impl Iterator<Item = (TimeKey, Slot)> + '_ {
        let tree = self.tree.range((Excluded(key), Unbounded));
        let mut tree = tree.map(|(key, slot)| (*key, *slot)).peekable();
        let mut run = self.run.after(key).peekable();
        iter::from_fn(move || {
            let tree_is_next = match (tree.peek(), run.peek()) {
                (Some(tree), Some(run)) => tree < run,
                (tree, _) => tree.is_some(),
            };
            match tree_is_next {
                true => tree.next(),
                false => run.next(),
            }
        })
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.run.capacity()
    }
}

// What was counted so far is counted again.
coded!(Timeline { run, tree } else { passed: 0, mark: Timestamp::default() });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::entry::KEPT;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Compares with a sorted list: in order and out of order, with gaps and counting.
    #[test]
    fn it_is_a_sorted_list_while_messages_come_and_go() {
        let mut line = Timeline::default();
        let mut naive: Vec<(Timestamp, MessageId, Slot)> = Vec::new();
        let mut random = 7_u64;
        let mut below = |limit: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % limit
        };
        for step in 0..40_000_u64 {
            let now = step / 4;
            // Now and then one is far out of order.
            let ahead = if below(50) == 0 { below(5_000) } else { 100 };
            let new = (at(now + ahead), MessageId::new(step), step as Slot);
            line.insert(new.0, new.1, new.2);
            naive.push(new);
            while naive.len() as u64 > 500 + below(3_000) {
                let place = below(naive.len() as u64) as usize;
                let (time, id, slot) = naive.swap_remove(place);
                line.remove(time, id);
                if below(10) == 0 {
                    line.insert(time, id, slot);
                    naive.push((time, id, slot));
                }
            }
            if below(100) == 0 {
                let passed = naive.iter().filter(|(time, ..)| *time <= at(now)).count();
                assert_eq!(line.count_until(at(now)), passed);
                let mut sorted = naive.clone();
                sorted.sort_unstable();
                let sorted: Vec<Slot> = sorted.iter().map(|(.., slot)| *slot).collect();
                let (come, later) = sorted.split_at(passed);
                assert!(line.slots().eq(sorted.iter().copied()));
                assert!(line.slots_until(at(now)).eq(come.iter().copied()));
                assert!(line.slots_after(at(now)).eq(later.iter().copied()));
                let first = naive.iter().min().copied();
                assert_eq!(line.first(), first.map(|(time, _, slot)| (time, slot)));
                let due = first.filter(|(time, ..)| *time <= at(now));
                assert_eq!(
                    line.pop_until(at(now)),
                    due.map(|(time, _, slot)| (time, slot))
                );
                naive.retain(|entry| Some(*entry) != due);
            }
            assert_eq!(line.len(), naive.len());
        }
        for (time, id, _) in naive {
            line.remove(time, id);
        }
        assert_eq!((line.len(), line.first()), (0, None));
        assert!(line.capacity() <= 2 * KEPT);
    }
}
