//! The groups of a grouped queue, and their turns.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use queue_core::{
    Error, GroupChange, GroupOrder, GroupedConfig, LeaseRate, OnDeath, Result, Timestamp, limits,
};

use super::{
    backlog::Lines,
    entry::{Entries, Key, Slot, StoredMessage},
    fifo::Fifo,
    rates::Rates,
};

/// The ready messages by group, and which group is next.
///
/// A group is here while it has a ready message, a message that holds a place, or a rule or a pause; its bucket of
/// tokens is elsewhere. Leased messages hold places. In strict order, a message that waits for the end of its delay does, too (G2).
#[derive(Debug)]
pub(crate) struct Groups {
    order: Order,
    groups: BTreeMap<Key, Group>,
    /// The groups that may run, by their turns.
    eligible: BTreeSet<(Turn, Key)>,
    /// The groups with a rule or a pause, or that wait for a token, by the end that comes first.
    ends: BTreeSet<(Timestamp, Key)>,
    pub(super) rates: Rates,
    /// The time of the present call.
    now: Timestamp,
    /// The virtual time: the turn of the last delivery.
    time: Turn,
    len: usize,
}

/// The order within each group, and how many of its messages may hold places.
#[derive(Debug, Clone, Copy)]
struct Order {
    is_strict: bool,
    per_group: u32,
    parks: bool,
}

impl Order {
    fn of(config: &GroupedConfig) -> Self {
        Self {
            is_strict: config.order == GroupOrder::Strict,
            per_group: config.per_group,
            parks: config.on_death == OnDeath::Park,
        }
    }
}

/// A time of start-time fair queueing: never negative.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Turn(f64);

impl Eq for Turn {}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Turn {
    /// The turn after a delivery in this one.
    fn next(self, weight: u32) -> Self {
        Self(self.0 + 1.0 / f64::from(weight))
    }
}

#[derive(Debug)]
struct Group {
    line: Fifo,
    /// How many of its messages hold a place.
    held: u32,
    /// In strict order, the message that holds the group's only place.
    held_by: Option<Slot>,
    turn: Turn,
    /// The time of its next token, if its bucket had none when it last changed (Q3).
    token_comes: Option<Timestamp>,
    /// Its rule and its pause, if it has any.
    own: Option<Box<Own>>,
}

/// The rule and the pause of one group.
#[derive(Debug, Default)]
struct Own {
    rule: Option<Rule>,
    paused_until: Option<Timestamp>,
    /// Paused without an end, after the death of a message.
    is_parked: bool,
}

#[derive(Debug, Clone, Copy)]
struct Rule {
    weight: u32,
    at_once: Option<u32>,
    rate: Option<LeaseRate>,
    ends: Timestamp,
}

impl Own {
    fn first_end(&self) -> Option<Timestamp> {
        let rule = self.rule.map(|rule| rule.ends);
        rule.into_iter().chain(self.paused_until).min()
    }

    fn is_over(&self) -> bool {
        self.rule.is_none() && self.paused_until.is_none() && !self.is_parked
    }
}

/// A group, as an operator sees it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) ready: usize,
    pub(super) held: u32,
    pub(super) held_by: Option<Slot>,
    pub(super) first: Option<Slot>,
    pub(super) may_run: bool,
    pub(super) at_once: u32,
    pub(super) weight: u32,
    pub(super) rate: Option<LeaseRate>,
    pub(super) token_comes: Option<Timestamp>,
    pub(super) rule_ends: Option<Timestamp>,
    pub(super) paused_until: Option<Timestamp>,
    pub(super) is_parked: bool,
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
    fn may_run(&self, order: Order) -> bool {
        self.token_comes.is_none() && self.has_next(order)
    }

    /// Whether its next message may be leased if it has a token.
    fn has_next(&self, order: Order) -> bool {
        let is_paused = self.paused_until().is_some() || self.is_parked();
        planted!(PausedGroupRuns => is_paused = false);
        let most = self.most(order);
        planted!(GroupIgnoresItsLimit => most = u32::MAX);
        self.line.len() > 0 && self.held < most && !is_paused
    }

    /// The first end of its rule, of its pause, or of its wait for a token.
    fn first_end(&self, order: Order) -> Option<Timestamp> {
        let token = self.token_comes.filter(|_| self.has_next(order));
        planted!(TokenOfAGroupUnseen => token = None);
        let own = self.own.as_ref().and_then(|own| own.first_end());
        own.into_iter().chain(token).min()
    }

    fn rule(&self) -> Option<Rule> {
        self.own.as_ref()?.rule
    }

    fn paused_until(&self) -> Option<Timestamp> {
        self.own.as_ref()?.paused_until
    }

    fn is_parked(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.is_parked)
    }

    /// The most places that may be held.
    fn most(&self, order: Order) -> u32 {
        let own = self.rule().and_then(|rule| rule.at_once);
        own.filter(|_| !order.is_strict).unwrap_or(order.per_group)
    }

    fn weight(&self) -> u32 {
        planted!(WeightIsIgnored => return 1);
        self.rule().map_or(1, |rule| rule.weight)
    }
}

impl Groups {
    pub(super) fn new(config: &GroupedConfig) -> Self {
        Self {
            order: Order::of(config),
            groups: BTreeMap::new(),
            eligible: BTreeSet::new(),
            ends: BTreeSet::new(),
            rates: Rates::new(config.group_rate),
            now: Timestamp::default(),
            time: Turn(0.0),
            len: 0,
        }
    }

    /// Takes another configuration; another order only while it has no messages. The turns go on.
    pub(super) fn reconfigure(&mut self, config: &GroupedConfig) {
        self.order = Order::of(config);
        let own_rate = |group: &Group| group.rule().and_then(|rule| rule.rate);
        let has_own = |name: &Key| self.groups.get(name).and_then(own_rate).is_some();
        let (rate, now) = (config.group_rate, self.now);
        for name in self.rates.change_usual(rate, now, has_own) {
            self.note_token(&name);
        }
    }

    /// Notes whether a group has a token, after a change of its bucket.
    fn note_token(&mut self, name: &Key) {
        if self.groups.contains_key(name) {
            let comes = self.rates.next_token(name, self.now);
            self.change(name, |group| group.token_comes = comes);
        }
    }

    /// Gives a group a rule or a pause, or ends it.
    pub(super) fn change_rule(
        &mut self,
        name: &Key,
        change: &GroupChange,
        now: Timestamp,
    ) -> Result<()> {
        let until = |lasts| limits::rule_millis(lasts).map(|time| now.plus_millis(time));
        match change {
            GroupChange::Rule(rule) => {
                let rule = Rule {
                    weight: rule.weight,
                    at_once: rule.at_once,
                    rate: rule.rate,
                    ends: until(rule.lasts)?,
                };
                self.change_own(name, |own| own.rule = Some(rule));
            }
            GroupChange::NoRule => self.change_own(name, |own| own.rule = None),
            GroupChange::Pause(lasts) => {
                let end = until(*lasts)?;
                self.change_own(name, |own| {
                    own.paused_until = Some(end).filter(|_| !own.is_parked);
                });
            }
            GroupChange::Resume => self.change_own(name, |own| {
                (own.paused_until, own.is_parked) = (None, false);
            }),
            other => {
                return Err(Error::invalid(format!(
                    "this backend has no change {other:?}"
                )));
            }
        }
        Ok(())
    }

    fn change_own(&mut self, name: &Key, change: impl FnOnce(&mut Own)) {
        let (before, after) = self.change(name, |group| {
            let mut own = group.own.take().unwrap_or_default();
            let before = own.rule.and_then(|rule| rule.rate);
            change(&mut own);
            let after = own.rule.and_then(|rule| rule.rate);
            group.own = Some(own).filter(|own| !own.is_over());
            (before, after)
        });
        if before != after {
            self.rates.change(name, self.rates.of(after), self.now);
            self.note_token(name);
        }
    }

    /// Changes a group, which is new if it has neither ready messages nor places, nor a rule.
    fn change<A>(&mut self, name: &Key, change: impl FnOnce(&mut Group) -> A) -> A {
        let (time, order, now) = (self.time, self.order, self.now);
        let begin = time.next(1);
        planted!(NewGroupCatchesUp => begin = Turn(1.0));
        let group = self
            .groups
            .entry(Arc::clone(name))
            .or_insert_with(|| Group {
                line: Fifo::default(),
                held: 0,
                held_by: None,
                turn: begin,
                token_comes: self.rates.next_token(name, now),
                own: None,
            });
        let before = group.may_run(order).then_some(group.turn);
        let end_before = group.first_end(order);
        group.token_comes = group.token_comes.filter(|time| now < *time);
        let answer = change(group);
        if before.is_none() {
            group.turn = group.turn.max(time);
        }
        let after = group.may_run(order).then_some(group.turn);
        let end_after = group.first_end(order);
        let is_over = group.line.len() == 0 && group.held == 0 && group.own.is_none();
        if before != after {
            before.map(|turn| self.eligible.remove(&(turn, Arc::clone(name))));
            after.map(|turn| self.eligible.insert((turn, Arc::clone(name))));
        }
        if end_before != end_after {
            end_before.map(|end| self.ends.remove(&(end, Arc::clone(name))));
            end_after.map(|end| self.ends.insert((end, Arc::clone(name))));
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
        let others = others.filter(|(_, group)| !group.may_run(self.order));
        eligible.chain(others.map(|(name, _)| name))
    }

    pub(super) fn look(&self, name: &Key) -> Seen {
        let group = &self.groups[name];
        Seen {
            ready: group.line.len(),
            held: group.held,
            held_by: group.held_by.filter(|_| group.held > 0),
            first: group.line.first(),
            may_run: group.may_run(self.order),
            at_once: group.most(self.order),
            weight: group.weight(),
            rate: self.rate_of(group),
            token_comes: self.rates.next_token(name, self.now),
            rule_ends: group.rule().map(|rule| rule.ends),
            paused_until: group.paused_until(),
            is_parked: group.is_parked(),
        }
    }

    fn rate_of(&self, group: &Group) -> Option<LeaseRate> {
        self.rates.of(group.rule().and_then(|rule| rule.rate))
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
    let name = entry.group.as_ref();
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
        if !self.order.is_strict && std::mem::take(&mut entry.holds) {
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
        let is_strict = self.order.is_strict;
        let rate = self.groups.get(&name).and_then(|group| self.rate_of(group));
        if let Some(rate) = rate {
            self.rates.spend(&name, rate, self.now);
        }
        let token_comes = self.rates.next_token(&name, self.now);
        self.change(&name, |group| {
            group.token_comes = token_comes;
            group.line.remove(entries, slot);
            group.held += 1;
            group.held_by = is_strict.then_some(slot);
            group.turn = group.turn.next(group.weight());
        });
        self.len -= 1;
    }

    fn forgotten(&mut self, entry: &StoredMessage) {
        planted!(WaitingKeepsItsPlace => if !entry.is_leased() { return });
        if entry.holds {
            self.change(&group_of(entry), |group| group.held -= 1);
        }
    }

    fn dies(&mut self, entry: &StoredMessage) {
        planted!(DeathParksNobody => return);
        if self.order.parks {
            self.change_own(&group_of(entry), |own| {
                (own.paused_until, own.is_parked) = (None, true);
            });
        }
    }

    fn set_time(&mut self, now: Timestamp) {
        self.now = now;
    }

    fn next_stir(&self) -> Option<Timestamp> {
        let times = [self.next_end(), self.rates.first_full()];
        times.into_iter().flatten().min()
    }

    fn stir(&mut self) {
        let now = self.now;
        self.rates.clear_full(now);
        for _ in 0..limits::MAX_BATCH {
            let first = self.ends.first();
            let Some((_, name)) = first.filter(|(end, _)| *end <= now) else {
                break;
            };
            self.change_own(&Arc::clone(name), |own| {
                planted!(RuleNeverEnds => own.paused_until = None; return);
                own.rule = own.rule.filter(|rule| now < rule.ends);
                own.paused_until = own.paused_until.filter(|end| now < *end);
            });
        }
    }

    fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(end, _)| *end)
    }

    fn count_groups(&self) -> usize {
        self.groups.len()
    }

    fn delayed_hold_places(&self) -> bool {
        planted!(FreedByAnEndUnseen => return false);
        self.order.is_strict
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

coded!(Groups {
    order,
    groups,
    eligible,
    ends,
    rates,
    now,
    time,
    len
});
coded!(Order {
    is_strict,
    per_group,
    parks
});
coded!(Turn { 0 });
coded!(Group {
    line,
    held,
    held_by,
    turn,
    token_comes,
    own
});
coded!(Own {
    rule,
    paused_until,
    is_parked
});
coded!(Rule {
    weight,
    at_once,
    rate,
    ends
});
