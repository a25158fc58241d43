//! The groups of a grouped queue, and their turns (G1 to G5).

use std::{collections::BTreeMap, time::Duration};

use queue_core::{Bytes, ErrorKind, Group, GroupChange, Page, Paged, Timestamp, limits::MAX_BATCH};

use super::{
    LeasingModel, ModelResult,
    entry::{ModelEntry, ModelPlace},
    limits,
    order::ReadyOrder,
    peek::UNDETERMINED,
    turns::{Name, Own, Rule, Turn, name},
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

    /// Notes that a message has changed its place.
    pub(super) fn regroup(&mut self, at: usize) {
        let name = name(&self.entries[at]);
        if self.order.has_groups() {
            self.begin_or_end(name);
        }
    }

    /// A group begins when it gets its first ready message, place or rule, and ends with the last (G5).
    fn begin_or_end(&mut self, name: Name) {
        let mut own = self
            .entries
            .iter()
            .filter(|entry| super::turns::name(entry) == name);
        let has_rule = self.turns.rules.contains_key(&name);
        if has_rule || own.any(|entry| is_ready(entry) || self.holds(entry)) {
            let begin = self.turns.time.after(1);
            self.turns.turns.entry(name).or_insert(begin);
        } else {
            self.turns.turns.remove(&name);
        }
    }

    /// Gives a group a rule or a pause, or ends it.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn change_group(
        &mut self,
        now: Timestamp,
        key: &Bytes,
        change: &GroupChange,
    ) -> ModelResult<()> {
        limits::group_change(key, change)?;
        let now = self.begin(now);
        let until = |lasts: Duration| now + limits::millis(lasts);
        let name = (key.len(), key.clone());
        let mut own = self.turns.rules.get(&name).copied().unwrap_or_default();
        match change {
            GroupChange::Rule(rule) => {
                own.rule = Some(Rule {
                    weight: rule.weight,
                    at_once: rule.at_once,
                    rate: rule.rate,
                    end: until(rule.lasts),
                });
            }
            GroupChange::NoRule => own.rule = None,
            GroupChange::Pause(lasts) if !own.is_parked => {
                own.paused_until = Some(until(*lasts));
            }
            GroupChange::Pause(_) => {}
            GroupChange::Resume => (own.paused_until, own.is_parked) = (None, false),
            other => unreachable!("the model's limits let only known changes pass: {other:?}"),
        }
        self.set_own(name, own, now);
        Ok(())
    }

    fn set_own(&mut self, name: Name, own: Own, now: u64) {
        self.turns.changing_rates(now, |turns| {
            match own == Own::default() {
                false => turns.rules.insert(name.clone(), own),
                true => turns.rules.remove(&name),
            };
        });
        self.begin_or_end(name);
    }

    /// Parks the group of a message that dies, if the queue does that.
    pub(super) fn park(&mut self, at: usize, now: u64) {
        if matches!(self.order, ReadyOrder::Groups { parks: true, .. }) {
            let name = name(&self.entries[at]);
            let own = self.turns.rules.get(&name).copied().unwrap_or_default();
            let parked = Own {
                rule: own.rule,
                paused_until: None,
                is_parked: true,
            };
            self.set_own(name, parked, now);
        }
    }

    /// Ends rules and pauses, up to 128 groups' by (end, key). A wait for a token ends of itself.
    pub(super) fn end_rules(&mut self, now: u64) {
        let rules = self.turns.rules.iter();
        let ends = rules.filter_map(|(name, own)| Some((own.end()?, name.clone())));
        let mut ended: Vec<_> = ends.filter(|(end, _)| *end <= now).collect();
        ended.sort();
        ended.truncate(MAX_BATCH);
        for (_, name) in ended {
            let mut own = self.turns.rules.get(&name).copied().unwrap_or_default();
            own.rule = own.rule.filter(|rule| rule.end > now);
            own.paused_until = own.paused_until.filter(|end| *end > now);
            self.set_own(name, own, now);
        }
        self.turns.forget_full(now);
    }

    /// The next time at which a group may be freed: at the end of a rule, with a token, or in strict order at the end of
    /// a message's time.
    pub(super) fn next_freed(&self, now: u64) -> Option<u64> {
        let ends = self.entries.iter().filter_map(ModelEntry::end);
        let is_strict = matches!(self.order, ReadyOrder::Groups { strict: true, .. });
        let ends = ends.filter(|_| is_strict);
        let ends = ends.chain(self.turns.next_end());
        ends.chain(self.next_group_token(now)).min()
    }

    /// The most messages of a group that may hold places, paused or not.
    fn most_of(&self, name: &Name) -> u32 {
        let ReadyOrder::Groups { strict, most, .. } = self.order else {
            return u32::MAX;
        };
        let rule = self.turns.rules.get(name).and_then(|own| own.rule);
        let own = rule.and_then(|rule| rule.at_once);
        own.filter(|_| !strict).unwrap_or(most)
    }

    /// Whether a group may run if it has a token.
    pub(super) fn may_run_with_a_token(&self, name: &Name, now: u64) -> bool {
        let own = |entry: &&ModelEntry| super::turns::name(entry) == *name;
        let held = self.entries.iter().filter(own);
        let held = held.filter(|entry| self.holds(entry)).count() as u32;
        let ready = self.ready(now);
        let mut ready = ready.iter().map(|at| &self.entries[*at]);
        ready.any(|entry| own(&entry)) && held < self.most_of(name) && !self.is_paused(name)
    }

    fn is_paused(&self, name: &Name) -> bool {
        self.turns.rules.get(name).is_some_and(Own::is_paused)
    }

    /// The messages that a lease hands out now, in order, if nothing limits their number (G1, G3, G4).
    pub(super) fn deliverable(&self, now: u64) -> Vec<usize> {
        if !self.order.has_groups() {
            return self.ready(now);
        }
        let mut time = self.turns.time;
        let mut turns = self.turns.turns.clone();
        let mut held: BTreeMap<Name, u32> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| self.holds(entry)) {
            *held.entry(name(entry)).or_default() += 1;
        }
        let mut taken: BTreeMap<Name, u64> = BTreeMap::new();
        let (mut left, mut line) = (self.ready(now), Vec::new());
        loop {
            let eligible = left.iter().enumerate().filter_map(|(nth, at)| {
                let name = name(&self.entries[*at]);
                let may_run = !self.is_paused(&name)
                    && held.get(&name).copied().unwrap_or(0) < self.most_of(&name)
                    && taken.get(&name).copied().unwrap_or(0) < self.turns.tokens(&name, now);
                let turn = turns.get(&name).copied().unwrap_or_default();
                may_run.then(|| (turn.max(time), name, nth))
            });
            // Of a group, its first message.
            let Some((turn, name, nth)) = eligible.min() else {
                return line;
            };
            line.push(left.remove(nth));
            time = turn;
            *held.entry(name.clone()).or_default() += 1;
            *taken.entry(name.clone()).or_default() += 1;
            let next = turn.after(self.turns.weight(&name));
            turns.insert(name, next);
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
            return Ok(Paged::new(Vec::new(), Some(UNDETERMINED)));
        }
        let ReadyOrder::Groups { strict, .. } = self.order else {
            return Err(ErrorKind::Invalid);
        };
        let ready = self.ready(now);
        let mut groups: Vec<(bool, Turn, &Name, Group)> = Vec::new();
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
            let own_rule = self.turns.rules.get(name).copied().unwrap_or_default();
            let at_once = self.most_of(name);
            let has_token = self.turns.tokens(name, now) > 0;
            let may_run = first.is_some() && held < at_once && has_token && !own_rule.is_paused();
            let left = |time: u64| Duration::from_millis(time.saturating_sub(now));
            let held_by = holding().next().filter(|_| strict);
            let mut group = Group::new(name.1.clone(), at_once);
            group.ready = first.iter().count() as u64 + waiting.count() as u64;
            group.held = held;
            group.oldest_ready =
                first.map(|entry| Duration::from_millis(now.saturating_sub(entry.ready_since)));
            group.may_run = may_run;
            group.weight = self.turns.weight(name);
            group.rate = self.turns.rate_of(name);
            group.next_token = self.turns.next_token(name, now).map(left);
            group.rule_ends = own_rule.rule.map(|rule| left(rule.end));
            group.paused = own_rule.paused_until.map(left);
            group.parked = own_rule.is_parked;
            group.held_by = held_by.map(|entry| entry.id);
            group.waits = held_by.and_then(ModelEntry::due).map(left);
            let turn = if may_run {
                (*turn).max(self.turns.time)
            } else {
                Turn::default()
            };
            groups.push((!may_run, turn, name, group));
        }
        groups.sort_by(|one, other| (one.0, one.1, one.2).cmp(&(other.0, other.1, other.2)));
        let mut groups: Vec<Group> = groups.into_iter().map(|(.., group)| group).collect();
        let more = groups.len() > page.limit;
        groups.truncate(page.limit);
        Ok(Paged::new(groups, more.then_some(UNDETERMINED)))
    }

    /// Notes a delivery.
    pub(super) fn take_turn(&mut self, at: usize, now: u64) {
        if self.order.has_groups() {
            let name = name(&self.entries[at]);
            self.turns.take_token(&name, now);
            let weight = self.turns.weight(&name);
            let turn = self.turns.turns.entry(name).or_default();
            self.turns.time = self.turns.time.max(*turn);
            *turn = self.turns.time.after(weight);
        }
    }
}
