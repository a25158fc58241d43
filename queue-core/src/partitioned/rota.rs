//! The order in which calls go to the parts, and what a handle knows of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Once in so many calls a lease goes to a part that it has no reason to go to. So a part that was
/// empty, and that others push to, is not left alone while there is work elsewhere; and all parts that
/// have work are asked equally often. It is odd, so that of two parts at hand in turn each is left.
const ROAM: usize = 7;

/// A set of parts: of 64 at most, so a number.
#[derive(Debug, Default)]
struct Set(AtomicU64);

impl Set {
    fn add(&self, part: usize) {
        self.0.fetch_or(1 << part, Relaxed);
    }

    fn remove(&self, part: usize) {
        // Most calls change nothing, and then leave the line to other threads.
        if self.get() & 1 << part != 0 {
            self.0.fetch_and(!(1 << part), Relaxed);
        }
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What the calls of a handle share. All of it is a hint about where to go first: no answer depends on
/// it.
#[derive(Debug)]
pub(super) struct Rota {
    parts: usize,
    pushes: AtomicUsize,
    leases: AtomicUsize,
    /// A wait said that there may be a message.
    told: Set,
    /// How often leases and settlements have asked each part.
    asked: Vec<AtomicUsize>,
    /// The last lease took all that was there.
    empty: Set,
    /// The last offer found no room.
    full: Set,
}

impl Rota {
    pub(super) fn new(parts: usize, first: usize) -> Self {
        Self {
            parts,
            pushes: AtomicUsize::new(first),
            leases: AtomicUsize::new(first),
            told: Set::default(),
            asked: std::iter::repeat_with(AtomicUsize::default)
                .take(parts)
                .collect(),
            empty: Set::default(),
            full: Set::default(),
        }
    }

    /// The part for messages without a key: each in turn, those with room first.
    pub(super) fn for_push(&self) -> usize {
        let start = self.pushes.fetch_add(1, Relaxed) % self.parts;
        next_in(self.all() & !self.full.get(), start).unwrap_or(start)
    }

    /// A part that is not known to be full, and none of these; `None` if there is none.
    pub(super) fn with_room(&self, except: &[usize]) -> Option<usize> {
        let except = except.iter().fold(0, |set, part| set | 1 << part);
        let start = self.pushes.load(Relaxed) % self.parts;
        next_in(self.all() & !self.full.get() & !except, start)
    }

    /// A lease's round through the parts. It begins with one of those where the call goes anyway.
    pub(super) fn round(&self, at_hand: impl Iterator<Item = usize>) -> Round<'_> {
        let calls = self.leases.fetch_add(1, Relaxed);
        let start = calls % self.parts;
        let with_work = |part: &usize| self.empty.get() & 1 << part == 0;
        let asked = |part: &usize| self.asked[*part].load(Relaxed);
        let roamed = calls / ROAM;
        let first = if calls % ROAM != ROAM - 1 {
            at_hand.filter(with_work).min_by_key(asked)
        } else if roamed.is_multiple_of(2) {
            (0..self.parts).filter(with_work).min_by_key(asked)
        } else {
            Some(roamed / 2 % self.parts)
        };
        Round {
            rota: self,
            left: self.all(),
            first,
            start,
        }
    }

    /// A call goes to the part.
    pub(super) fn asks(&self, part: usize) {
        self.asked[part].fetch_add(1, Relaxed);
    }

    /// A lease looked at the part, and took all that was there, or not.
    pub(super) fn looked(&self, part: usize, took_all: bool) {
        match took_all {
            true => self.empty.add(part),
            false => self.empty.remove(part),
        }
    }

    /// Something came into the part, or came back.
    pub(super) fn came(&self, part: usize) {
        self.empty.remove(part);
    }

    /// A wait ended: there may be a message in the part.
    pub(super) fn told(&self, part: usize) {
        self.empty.remove(part);
        self.told.add(part);
    }

    /// An offer found no room in the part.
    pub(super) fn found_full(&self, part: usize) {
        self.full.add(part);
    }

    /// There may be room in the part.
    pub(super) fn may_have_room(&self, part: usize) {
        self.full.remove(part);
    }

    /// The parts whose room a producer waits for: those that are known to be full, or all.
    pub(super) fn full_ones(&self) -> impl Iterator<Item = usize> {
        let full = match self.full.get() {
            0 => self.all(),
            full => full,
        };
        (0..self.parts).filter(move |part| full & 1 << part != 0)
    }

    const fn all(&self) -> u64 {
        u64::MAX >> (u64::BITS as usize - self.parts)
    }
}

/// One lease's way through the parts, each at most once.
#[derive(Debug)]
pub(super) struct Round<'a> {
    rota: &'a Rota,
    left: u64,
    first: Option<usize>,
    start: usize,
}

impl Round<'_> {
    /// The next part to look at; of those known to be empty only if nothing was found so far: who
    /// finds nothing has looked at all of them.
    pub(super) fn next(&mut self, found: bool) -> Option<usize> {
        let told = next_in(self.left & self.rota.told.get(), self.start);
        let first = || self.first.take().filter(|part| self.left & 1 << part != 0);
        let part = told
            .or_else(first)
            .or_else(|| next_in(self.left & !self.rota.empty.get(), self.start))
            .or_else(|| next_in(self.left, self.start).filter(|_| !found))?;
        self.left &= !(1 << part);
        self.rota.told.remove(part);
        Some(part)
    }
}

/// The first part of the set from `start` on, and round again.
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
    fn who_finds_nothing_looks_at_every_part_once() {
        for parts in [2, 3, 63, 64] {
            let rota = Rota::new(parts, 1);
            for empty in 0..parts {
                rota.looked(empty, true);
                let mut seen = looks(rota.round(0..1), false);
                seen.sort_unstable();
                assert_eq!(seen, (0..parts).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn who_has_found_something_skips_what_is_known_to_be_empty() {
        let rota = Rota::new(4, 0);
        rota.looked(1, true);
        rota.looked(2, true);
        assert_eq!(looks(rota.round(0..0), true), [0, 3]);
        rota.came(2);
        assert_eq!(looks(rota.round(0..0), true), [2, 3, 0]);
    }

    #[test]
    fn a_told_part_comes_first_and_is_told_once() {
        let rota = Rota::new(3, 0);
        rota.looked(2, true);
        rota.told(2);
        assert_eq!(looks(rota.round(1..2), false), [2, 1, 0]);
        assert_eq!(looks(rota.round(1..2), false)[0], 1);
    }

    #[test]
    fn an_empty_part_is_looked_at_now_and_then() {
        let rota = Rota::new(3, 0);
        rota.looked(1, true);
        rota.looked(2, true);
        let firsts: Vec<_> = (0..6 * ROAM)
            .filter_map(|_| rota.round(0..1).next(false))
            .collect();
        for part in 0..3 {
            assert!(firsts.contains(&part), "{part} in {firsts:?}");
        }
    }

    #[test]
    fn messages_without_a_key_go_to_each_part_in_turn_and_past_full_ones() {
        let rota = Rota::new(3, 2);
        let turns: Vec<_> = (0..4).map(|_| rota.for_push()).collect();
        assert_eq!(turns, [2, 0, 1, 2]);
        rota.found_full(0);
        assert_eq!(rota.for_push(), 1);
        assert_eq!(rota.full_ones().collect::<Vec<_>>(), [0]);
        rota.may_have_room(0);
        assert_eq!(rota.full_ones().count(), 3);
    }
}
