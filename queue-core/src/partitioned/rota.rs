//! The order in which calls go to the parts, and what a handle knows of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// A lease that has other parts to go to first looks anywhere once in so many calls. So a part that
/// was empty, or that others push to, is not left alone as long as there is work elsewhere.
const ROAM: usize = 8;

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
            empty: Set::default(),
            full: Set::default(),
        }
    }

    /// The part for messages without a key: each in turn, those with room first.
    pub(super) fn for_push(&self) -> usize {
        let start = self.pushes.fetch_add(1, Relaxed) % self.parts;
        self.with_room_from(start).unwrap_or(start)
    }

    /// A part that is not known to be full; `None` if all are.
    pub(super) fn with_room(&self) -> Option<usize> {
        self.with_room_from(self.pushes.load(Relaxed) % self.parts)
    }

    fn with_room_from(&self, start: usize) -> Option<usize> {
        next_in(self.all() & !self.full.get(), start)
    }

    /// A lease's round through the parts. `at_hand` is where the call goes anyway.
    pub(super) fn round(&self, at_hand: Option<usize>) -> Round<'_> {
        let calls = self.leases.fetch_add(1, Relaxed);
        let roams = calls % ROAM == ROAM - 1;
        // It roams by one part further each time, and not always to the same ones.
        let start = if roams { calls / ROAM } else { calls } % self.parts;
        let first = if roams {
            Some(start)
        } else {
            at_hand.filter(|part| self.empty.get() & 1 << part == 0)
        };
        Round {
            rota: self,
            left: self.all(),
            first,
            start,
        }
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
                let mut seen = looks(rota.round(Some(0)), false);
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
        assert_eq!(looks(rota.round(None), true), [0, 3]);
        rota.came(2);
        assert_eq!(looks(rota.round(None), true), [2, 3, 0]);
    }

    #[test]
    fn a_told_part_comes_first_and_is_told_once() {
        let rota = Rota::new(3, 0);
        rota.looked(2, true);
        rota.told(2);
        assert_eq!(looks(rota.round(Some(1)), false), [2, 1, 0]);
        assert_eq!(looks(rota.round(Some(1)), false)[0], 1);
    }

    #[test]
    fn an_empty_part_is_looked_at_now_and_then() {
        let rota = Rota::new(3, 0);
        rota.looked(1, true);
        rota.looked(2, true);
        let firsts: Vec<_> = (0..3 * ROAM)
            .filter_map(|_| rota.round(Some(0)).next(false))
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
