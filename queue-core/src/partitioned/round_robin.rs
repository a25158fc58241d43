//! The order in which calls go to the partitions, and the hints that a handle keeps for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Once in `ROAM` calls a lease begins at a partition that no hint suggests. So a partition that was empty,
/// and that other handles push to, is polled even while there is work elsewhere; and all partitions with work
/// are polled equally often. The number is odd, so that with two alternating partitions either is left at
/// times.
const ROAM: usize = 7;

/// A set of at most 64 partitions, as the bits of a number.
#[derive(Debug, Default)]
struct Set(AtomicU64);

impl Set {
    fn add(&self, partition: usize) {
        self.0.fetch_or(1 << partition, Relaxed);
    }

    fn remove(&self, partition: usize) {
        // Most calls change nothing. Then a read leaves the cache line shared with other threads.
        if self.get() & 1 << partition != 0 {
            self.0.fetch_and(!(1 << partition), Relaxed);
        }
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Hints that the calls of a handle share: where to go first. No answer depends on them.
#[derive(Debug)]
pub(super) struct RoundRobin {
    partitions: usize,
    pushes: AtomicUsize,
    leases: AtomicUsize,
    /// Partitions where a wait was notified of a message.
    notified: Set,
    /// How often leases and settlements have asked each partition.
    asked: Vec<AtomicUsize>,
    /// Partitions whose last lease took all messages.
    empty: Set,
    /// Partitions whose last push found no room.
    full: Set,
}

impl RoundRobin {
    pub(super) fn new(partitions: usize, first: usize) -> Self {
        Self {
            partitions,
            pushes: AtomicUsize::new(first),
            leases: AtomicUsize::new(first),
            notified: Set::default(),
            asked: std::iter::repeat_with(AtomicUsize::default)
                .take(partitions)
                .collect(),
            empty: Set::default(),
            full: Set::default(),
        }
    }

    /// The partition for messages without a key: each in turn, partitions with room first.
    pub(super) fn for_push(&self) -> usize {
        let start = self.pushes.fetch_add(1, Relaxed) % self.partitions;
        next_in(self.all() & !self.full.get(), start).unwrap_or(start)
    }

    /// A partition that is not known to be full and is not in `except`; `None` if there is none.
    pub(super) fn with_room(&self, except: &[usize]) -> Option<usize> {
        let except = except.iter().fold(0, |set, partition| set | 1 << partition);
        let start = self.pushes.load(Relaxed) % self.partitions;
        next_in(self.all() & !self.full.get() & !except, start)
    }

    /// A lease's round through the partitions. It begins in `at_hand`, the partitions to which the call goes
    /// anyway.
    pub(super) fn round(&self, at_hand: impl Iterator<Item = usize>) -> Round<'_> {
        let calls = self.leases.fetch_add(1, Relaxed);
        let start = calls % self.partitions;
        let with_work = |partition: &usize| self.empty.get() & 1 << partition == 0;
        let asked = |partition: &usize| self.asked[*partition].load(Relaxed);
        let roamed = calls / ROAM;
        let first = if calls % ROAM != ROAM - 1 {
            at_hand.filter(with_work).min_by_key(asked)
        } else if roamed.is_multiple_of(2) {
            (0..self.partitions).filter(with_work).min_by_key(asked)
        } else {
            Some(roamed / 2 % self.partitions)
        };
        Round {
            round_robin: self,
            left: self.all(),
            first,
            start,
        }
    }

    /// Counts a call to the partition.
    pub(super) fn asks(&self, partition: usize) {
        self.asked[partition].fetch_add(1, Relaxed);
    }

    /// Notes whether a lease took all messages of the partition.
    pub(super) fn polled(&self, partition: usize, took_all: bool) {
        match took_all {
            true => self.empty.add(partition),
            false => self.empty.remove(partition),
        }
    }

    /// Notes that a message came into the partition, or came back.
    pub(super) fn came(&self, partition: usize) {
        self.empty.remove(partition);
    }

    /// Notes that a wait was notified: there may be a message in the partition.
    pub(super) fn notified(&self, partition: usize) {
        self.empty.remove(partition);
        self.notified.add(partition);
    }

    /// Notes that a push found no room in the partition.
    pub(super) fn found_full(&self, partition: usize) {
        self.full.add(partition);
    }

    /// Notes that there may be room in the partition.
    pub(super) fn may_have_room(&self, partition: usize) {
        self.full.remove(partition);
    }

    /// The partitions whose room a producer waits for: the partitions known to be full, or all.
    pub(super) fn full_ones(&self) -> impl Iterator<Item = usize> {
        let full = match self.full.get() {
            0 => self.all(),
            full => full,
        };
        (0..self.partitions).filter(move |partition| full & 1 << partition != 0)
    }

    const fn all(&self) -> u64 {
        u64::MAX >> (u64::BITS as usize - self.partitions)
    }
}

/// One lease's way through the partitions, each at most once.
#[derive(Debug)]
pub(super) struct Round<'a> {
    round_robin: &'a RoundRobin,
    left: u64,
    first: Option<usize>,
    start: usize,
}

impl Round<'_> {
    /// The next partition to poll. Partitions known to be empty follow only if nothing was found so far, so a
    /// lease that finds nothing has polled all of them.
    pub(super) fn next(&mut self, found: bool) -> Option<usize> {
        let notified = next_in(self.left & self.round_robin.notified.get(), self.start);
        let first = || {
            self.first
                .take()
                .filter(|partition| self.left & 1 << partition != 0)
        };
        let partition = notified
            .or_else(first)
            .or_else(|| next_in(self.left & !self.round_robin.empty.get(), self.start))
            .or_else(|| next_in(self.left, self.start).filter(|_| !found))?;
        self.left &= !(1 << partition);
        self.round_robin.notified.remove(partition);
        Some(partition)
    }
}

/// The first partition of the set from `start` on, and round again.
const fn next_in(set: u64, start: usize) -> Option<usize> {
    let behind = set & u64::MAX << start;
    match if behind == 0 { set } else { behind } {
        0 => None,
        set => Some(set.trailing_zeros() as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(mut round: Round<'_>, found: bool) -> Vec<usize> {
        std::iter::from_fn(|| round.next(found)).collect()
    }

    #[test]
    fn a_round_that_finds_nothing_visits_every_partition_once() {
        for partitions in [2, 3, 63, 64] {
            let round_robin = RoundRobin::new(partitions, 1);
            for empty in 0..partitions {
                round_robin.polled(empty, true);
                let mut seen = looks(round_robin.round(0..1), false);
                seen.sort_unstable();
                assert_eq!(seen, (0..partitions).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_round_that_found_something_skips_partitions_known_to_be_empty() {
        let round_robin = RoundRobin::new(4, 0);
        round_robin.polled(1, true);
        round_robin.polled(2, true);
        assert_eq!(looks(round_robin.round(0..0), true), [0, 3]);
        round_robin.came(2);
        assert_eq!(looks(round_robin.round(0..0), true), [2, 3, 0]);
    }

    #[test]
    fn a_hinted_partition_comes_first_and_once() {
        let round_robin = RoundRobin::new(3, 0);
        round_robin.polled(2, true);
        round_robin.notified(2);
        assert_eq!(looks(round_robin.round(1..2), false), [2, 1, 0]);
        assert_eq!(looks(round_robin.round(1..2), false)[0], 1);
    }

    #[test]
    fn an_empty_partition_is_looked_at_now_and_then() {
        let round_robin = RoundRobin::new(3, 0);
        round_robin.polled(1, true);
        round_robin.polled(2, true);
        let firsts: Vec<_> = (0..6 * ROAM)
            .filter_map(|_| round_robin.round(0..1).next(false))
            .collect();
        for partition in 0..3 {
            assert!(firsts.contains(&partition), "{partition} in {firsts:?}");
        }
    }

    #[test]
    fn messages_without_a_key_go_to_each_partition_in_turn_and_past_full_ones() {
        let round_robin = RoundRobin::new(3, 2);
        let turns: Vec<_> = (0..4).map(|_| round_robin.for_push()).collect();
        assert_eq!(turns, [2, 0, 1, 2]);
        round_robin.found_full(0);
        assert_eq!(round_robin.for_push(), 1);
        assert_eq!(round_robin.full_ones().collect::<Vec<_>>(), [0]);
        round_robin.may_have_room(0);
        assert_eq!(round_robin.full_ones().count(), 3);
    }
}
