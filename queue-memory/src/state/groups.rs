//! The groups of a grouped queue, and their turns.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use queue_core::{GroupOrder, GroupedConfig};

use super::{
    backlog::Lines,
    entry::{Entries, Key, Slot, StoredMessage},
    fifo::Fifo,
};

/// The ready messages by group, and which group is next.
///
/// A group is here while it has a ready message, or a message that holds a place. Leased messages hold places. In
/// strict order, a message that waits for the end of its delay does, too (G2).
#[derive(Debug)]
pub(crate) struct Groups {
    is_strict: bool,
    per_group: u32,
    groups: BTreeMap<Key, Group>,
    /// The groups that may run, by their turns.
    eligible: BTreeSet<(u64, Key)>,
    /// The virtual time: the turn of the last delivery.
    time: u64,
    len: usize,
}

#[derive(Debug)]
struct Group {
    line: Fifo,
    /// How many of its messages hold a place.
    held: u32,
    /// In strict order, the message that holds the group's only place.
    held_by: Option<Slot>,
    turn: u64,
}

/// A group, as an operator sees it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) ready: usize,
    pub(super) held: u32,
    pub(super) held_by: Option<Slot>,
    pub(super) first: Option<Slot>,
    pub(super) may_run: bool,
}

/// A group's key behind a byte with its length, so that shorter keys go first.
pub(super) fn name_of(key: &[u8]) -> Key {
    let length = key.len().saturating_sub(1) as u8;
    [&[length], key].concat().into()
}

/// The key in such a name.
pub(super) fn key_in(name: &Key) -> &[u8] {
    &name[1..]
}

impl Group {
    /// Whether its next message may be leased.
    fn may_run(&self, per_group: u32) -> bool {
        planted!(GroupIgnoresItsLimit => per_group = u32::MAX);
        self.line.len() > 0 && self.held < per_group
    }
}

impl Groups {
    pub(super) fn new(config: &GroupedConfig) -> Self {
        Self {
            is_strict: config.order == GroupOrder::Strict,
            per_group: config.per_group,
            groups: BTreeMap::new(),
            eligible: BTreeSet::new(),
            time: 0,
            len: 0,
        }
    }

    /// Takes another order, while it has no messages. The turns go on.
    pub(super) fn change_order(&mut self, config: &GroupedConfig) {
        self.is_strict = config.order == GroupOrder::Strict;
        self.per_group = config.per_group;
    }

    /// Changes a group, which is new if it has neither ready messages nor places.
    fn change<A>(&mut self, name: &Key, change: impl FnOnce(&mut Group) -> A) -> A {
        let (time, per_group) = (self.time, self.per_group);
        let begin = time + 1;
        planted!(NewGroupCatchesUp => begin = 1);
        let group = self
            .groups
            .entry(Arc::clone(name))
            .or_insert_with(|| Group {
                line: Fifo::default(),
                held: 0,
                held_by: None,
                turn: begin,
            });
        let before = group.may_run(per_group).then_some(group.turn);
        let answer = change(group);
        if before.is_none() {
            group.turn = group.turn.max(time);
        }
        let after = group.may_run(per_group).then_some(group.turn);
        let is_over = group.line.len() == 0 && group.held == 0;
        if before != after {
            before.map(|turn| self.eligible.remove(&(turn, Arc::clone(name))));
            after.map(|turn| self.eligible.insert((turn, Arc::clone(name))));
        }
        planted!(EmptyGroupStays => is_over = false);
        if is_over {
            self.groups.remove(name);
        }
        answer
    }

    /// The groups that may run, in their turns; then the others, by name.
    pub(super) fn names(&self) -> impl Iterator<Item = &Key> {
        let eligible = self.eligible.iter().map(|(_, name)| name);
        let others = self.groups.iter();
        let others = others.filter(|(_, group)| !group.may_run(self.per_group));
        eligible.chain(others.map(|(name, _)| name))
    }

    pub(super) fn look(&self, name: &Key) -> Seen {
        let group = &self.groups[name];
        Seen {
            ready: group.line.len(),
            held: group.held,
            held_by: group.held_by.filter(|_| group.held > 0),
            first: group.line.first(),
            may_run: group.may_run(self.per_group),
        }
    }

    fn add(
        &mut self,
        entries: &mut Entries,
        slot: Slot,
        add: impl FnOnce(&mut Fifo, &mut Entries, Slot),
    ) {
        let name = group_of(&entries[slot]);
        let held = u32::from(std::mem::take(&mut entries[slot].holds));
        planted!(PlaceSurvivesItsLease => held = 0);
        // In one step: between two, the group might be empty.
        self.change(&name, |group| {
            group.held -= held;
            add(&mut group.line, entries, slot);
        });
        self.len += 1;
    }
}

fn group_of(entry: &StoredMessage) -> Key {
    let name = entry.key.as_ref();
    Arc::clone(name.expect("each message of a grouped queue has a group"))
}

impl Lines for Groups {
    fn join(&mut self, entries: &mut Entries, slot: Slot) {
        self.add(entries, slot, Fifo::join);
    }

    fn rejoin(&mut self, entries: &mut Entries, slot: Slot) {
        self.add(entries, slot, Fifo::rejoin);
    }

    fn put_off(&mut self, entries: &mut Entries, slot: Slot) {
        let entry = &mut entries[slot];
        if !self.is_strict && std::mem::take(&mut entry.holds) {
            self.change(&group_of(entry), |group| group.held -= 1);
        }
    }

    fn due(&mut self, entries: &mut Entries, slot: Slot) {
        planted!(RetriedToTheTailOfItsGroup => return self.join(entries, slot));
        match entries[slot].holds {
            true => self.rejoin(entries, slot),
            false => self.join(entries, slot),
        }
    }

    fn grant(&mut self, entries: &mut Entries, slot: Slot) {
        let entry = &mut entries[slot];
        entry.holds = true;
        let name = group_of(entry);
        self.time = self.groups.get(&name).map_or(self.time, |group| group.turn);
        let is_strict = self.is_strict;
        self.change(&name, |group| {
            group.line.remove(entries, slot);
            group.held += 1;
            group.held_by = is_strict.then_some(slot);
            group.turn += 1;
        });
        self.len -= 1;
    }

    fn forgotten(&mut self, entry: &StoredMessage) {
        planted!(WaitingKeepsItsPlace => if !entry.is_leased() { return });
        if entry.holds {
            self.change(&group_of(entry), |group| group.held -= 1);
        }
    }

    fn next(&self) -> Option<Slot> {
        let (_, name) = self.eligible.first()?;
        self.groups.get(name)?.line.first()
    }

    fn first(&self) -> Option<Slot> {
        let mut lines = self.groups.values().map(|group| &group.line);
        lines.find_map(Fifo::first)
    }

    fn remove(&mut self, entries: &mut Entries, slot: Slot) {
        let name = group_of(&entries[slot]);
        self.change(&name, |group| group.line.remove(entries, slot));
        self.len -= 1;
    }

    fn len(&self) -> usize {
        self.len
    }

    fn heads(&self) -> impl Iterator<Item = Slot> + '_ {
        self.groups.values().flat_map(|group| group.line.heads())
    }

    fn forwards<'a>(&'a self, entries: &'a Entries) -> impl Iterator<Item = Slot> + 'a {
        let lines = self.groups.values().map(|group| &group.line);
        lines.flat_map(|line| line.forwards(entries))
    }
}
