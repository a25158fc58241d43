//! The groups of a grouped queue, and their turns (G1 to G5).

use std::{collections::BTreeMap, time::Duration};

use queue_core::{ErrorKind, Group, Page, Paged, Timestamp};

use super::{
    LeasingModel, ModelResult,
    entry::{ModelEntry, ModelPlace},
    limits,
    order::ReadyOrder,
    peek::UNDETERMINED,
    turns::{Name, name},
};

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
            .filter(|entry| super::turns::name(entry) == name);
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

    /// The groups: those that may run in their turns, then the others. The cursor is `UNDETERMINED` for every page but
    /// the last, because groups move between pages.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn groups(&mut self, now: Timestamp, page: Page) -> ModelResult<Paged<Group>> {
        limits::page(page.limit)?;
        let now = self.begin(now);
        if page.after.is_some() {
            return Ok(Paged {
                entries: Vec::new(),
                next: Some(UNDETERMINED),
            });
        }
        let ReadyOrder::Groups { strict, most } = self.order else {
            return Err(ErrorKind::Invalid);
        };
        let ready = self.ready(now);
        let mut groups: Vec<(bool, u64, &Name, Group)> = Vec::new();
        for (name, turn) in &self.turns.turns {
            let own = |entry: &&ModelEntry| super::turns::name(entry) == *name;
            let holding = || {
                self.entries
                    .iter()
                    .filter(own)
                    .filter(|entry| self.holds(entry))
            };
            let mut waiting = ready.iter().map(|at| &self.entries[*at]).filter(own);
            let first = waiting.next();
            let held = holding().count() as u32;
            let may_run = first.is_some() && held < most;
            let held_by = holding().next().filter(|_| strict);
            let group = Group {
                key: name.1.clone(),
                ready: first.iter().count() as u64 + waiting.count() as u64,
                held,
                oldest_ready: first
                    .map(|entry| Duration::from_millis(now.saturating_sub(entry.ready_since))),
                may_run,
                held_by: held_by.map(|entry| entry.id),
                waits: held_by
                    .and_then(ModelEntry::due)
                    .map(|due| Duration::from_millis(due.saturating_sub(now))),
            };
            let turn = if may_run {
                (*turn).max(self.turns.time)
            } else {
                0
            };
            groups.push((!may_run, turn, name, group));
        }
        groups.sort_by(|one, other| (one.0, one.1, one.2).cmp(&(other.0, other.1, other.2)));
        let mut groups: Vec<Group> = groups.into_iter().map(|(.., group)| group).collect();
        let more = groups.len() > page.limit;
        groups.truncate(page.limit);
        Ok(Paged {
            entries: groups,
            next: more.then_some(UNDETERMINED),
        })
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
