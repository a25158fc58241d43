//! The groups of a grouped queue, and their turns (G1 to G5).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{
    LeasingModel,
    entry::{ModelEntry, ModelPlace},
    order::ReadyOrder,
};

/// Groups in the order in which they are shown: the shortest key first, then by its bytes.
pub(super) type Name = (usize, Bytes);

/// The turns of the groups that have ready messages or held places, and the virtual time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Turns {
    turns: BTreeMap<Name, u64>,
    time: u64,
}

pub(super) fn name(entry: &ModelEntry) -> Name {
    (entry.key.len(), entry.key.clone())
}

const fn is_ready(entry: &ModelEntry) -> bool {
    matches!(entry.place, ModelPlace::Ready | ModelPlace::Returned)
}

impl LeasingModel {
    /// Whether a message holds a place of its group: while it is leased and, in strict order, while it waits after a
    /// retry or a defer (G2).
    fn holds(&self, entry: &ModelEntry) -> bool {
        match entry.place {
            ModelPlace::Leased { .. } => true,
            ModelPlace::Delayed { .. } => {
                entry.returns && matches!(self.order, ReadyOrder::Groups { strict: true, .. })
            }
            _ => false,
        }
    }

    /// Notes that a message has changed its place: its group begins when it gets its first ready message or place, and
    /// ends with the last (G5).
    pub(super) fn regroup(&mut self, at: usize) {
        let name = name(&self.entries[at]);
        // A message gets its group when it has been accepted.
        if !matches!(self.order, ReadyOrder::Groups { .. }) || name.0 == 0 {
            return;
        }
        let mut own = self
            .entries
            .iter()
            .filter(|entry| self::name(entry) == name);
        if own.any(|entry| is_ready(entry) || self.holds(entry)) {
            let begin = self.turns.time + 1;
            self.turns.turns.entry(name).or_insert(begin);
        } else {
            self.turns.turns.remove(&name);
        }
    }

    /// The messages that a lease hands out now, in order, if nothing limits their number (G1, G3, G4).
    pub(super) fn deliverable(&self, now: u64) -> Vec<usize> {
        let ReadyOrder::Groups { most, .. } = self.order else {
            return self.ready(now);
        };
        let mut time = self.turns.time;
        let mut turns = self.turns.turns.clone();
        let mut held: BTreeMap<Name, u32> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| self.holds(entry)) {
            *held.entry(name(entry)).or_default() += 1;
        }
        let (mut left, mut line) = (self.ready(now), Vec::new());
        loop {
            let eligible = left.iter().enumerate().filter_map(|(nth, at)| {
                let name = name(&self.entries[*at]);
                let may_run = held.get(&name).is_none_or(|held| *held < most);
                may_run.then(|| (turns.get(&name).copied().unwrap_or(0).max(time), name, nth))
            });
            // Of a group, its first message.
            let Some((turn, name, nth)) = eligible.min() else {
                return line;
            };
            line.push(left.remove(nth));
            time = turn;
            *held.entry(name.clone()).or_default() += 1;
            turns.insert(name, turn + 1);
        }
    }

    /// Notes a delivery.
    pub(super) fn take_turn(&mut self, at: usize) {
        if matches!(self.order, ReadyOrder::Groups { .. }) {
            let turn = self.turns.turns.entry(name(&self.entries[at])).or_default();
            self.turns.time = self.turns.time.max(*turn);
            *turn = self.turns.time + 1;
        }
    }
}
