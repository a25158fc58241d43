//! Messages by a time: deadlines of leases, due times of what is delayed.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Included},
};

use queue_core::{MessageId, Timestamp};

use super::entry::Slot;

const LAST: MessageId = MessageId::new(u64::MAX);

/// Messages in the order of (time, id).
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    slots: BTreeMap<(Timestamp, MessageId), Slot>,
    /// How many of them are not after `mark`, so that counting those passes each of them once,
    /// however often it is asked.
    passed: usize,
    mark: Timestamp,
}

impl Timeline {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn insert(&mut self, time: Timestamp, id: MessageId, slot: Slot) {
        self.slots.insert((time, id), slot);
        self.passed += usize::from(time <= self.mark);
    }

    pub(crate) fn remove(&mut self, time: Timestamp, id: MessageId) {
        if self.slots.remove(&(time, id)).is_some() {
            self.passed -= usize::from(time <= self.mark);
        }
    }

    /// The first message, and its time.
    pub(crate) fn first(&self) -> Option<(Timestamp, Slot)> {
        let (&(time, _), &slot) = self.slots.first_key_value()?;
        Some((time, slot))
    }

    pub(crate) fn first_time(&self) -> Option<Timestamp> {
        self.first().map(|(time, _)| time)
    }

    /// Takes the first message if its time has come.
    pub(crate) fn pop_until(&mut self, now: Timestamp) -> Option<(Timestamp, Slot)> {
        let first = self.slots.first_entry()?;
        let &(time, _) = first.key();
        if time > now {
            return None;
        }
        self.passed -= usize::from(time <= self.mark);
        Some((time, first.remove()))
    }

    /// How many messages' time has come. `now` never goes back.
    pub(crate) fn count_until(&mut self, now: Timestamp) -> usize {
        if now > self.mark {
            let since = (Excluded((self.mark, LAST)), Included((now, LAST)));
            self.passed += self.slots.range(since).count();
            self.mark = now;
        }
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn what_has_passed_is_counted_right_while_messages_come_and_go() {
        let mut line = Timeline::default();
        let mut naive = Vec::new();
        let mut random = 7_u64;
        for now in 1..2_000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (time, id) = (at(now + (random >> 58)), MessageId::new(now));
            line.insert(time, id, 0);
            naive.push((time, id));
            if random.is_multiple_of(3) {
                let (time, id) = naive.swap_remove((random >> 33) as usize % naive.len());
                line.remove(time, id);
            }
            if random.is_multiple_of(5) {
                let passed = naive.iter().filter(|(time, _)| *time <= at(now)).count();
                assert_eq!(line.count_until(at(now)), passed);
            }
            if random.is_multiple_of(7) && line.pop_until(at(now)).is_some() {
                let first = naive.iter().min().copied();
                naive.retain(|entry| Some(*entry) != first);
            }
        }
        assert_eq!(line.len(), naive.len());
    }
}
