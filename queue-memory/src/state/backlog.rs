//! Backlogs: a queue's ready and delayed messages, in the kind's delivery order.

use std::fmt::Debug;

use queue_core::{Timestamp, limits};

use super::{
    entry::{Entries, EntryPlace, Slot, StoredMessage},
    timeline::Timeline,
};
use crate::coded::Coded;

/// The undelivered messages of a queue.
pub(crate) trait Backlog: Coded + Debug + Send + 'static {
    /// Puts a message that is pushed or revived now at the tail of the ready messages.
    fn join(&mut self, entries: &mut Entries, slot: Slot, now: Timestamp);

    /// Puts a message whose lease ended at `ended`, by release or expiry, before all others (L11).
    fn rejoin(&mut self, entries: &mut Entries, slot: Slot, ended: Timestamp);

    /// Adds a message that is ready from `due` on.
    fn delay(&mut self, entries: &mut Entries, slot: Slot, due: Timestamp);

    /// Gives a delayed message another due time.
    fn postpone(&mut self, entries: &mut Entries, slot: Slot, due: Timestamp);

    /// Makes due messages ready, at most 128 (L7).
    fn promote(&mut self, entries: &mut Entries, now: Timestamp);

    /// Removes a ready message that is leased from now on.
    fn grant(&mut self, entries: &mut Entries, slot: Slot) {
        self.remove(entries, slot);
    }

    /// Notes that a message is gone or dead.
    fn forgotten(&mut self, _entry: &StoredMessage) {}

    /// Notes that a message becomes a dead letter, before it leaves its place.
    fn dies(&mut self, _entry: &StoredMessage) {}

    /// The next message to deliver.
    fn first_ready(&self, now: Timestamp) -> Option<Slot>;

    /// The next message in delivery order, delayed ones last, by due time.
    fn first(&self) -> Option<Slot>;

    /// Removes an undelivered message, ready or delayed.
    fn remove(&mut self, entries: &mut Entries, slot: Slot);

    /// The earliest due time of the delayed messages.
    fn next_due(&self) -> Option<Timestamp>;

    /// The time of the next promotion.
    fn next_promotion(&self) -> Option<Timestamp>;

    /// Notes the time of a call, before anything else.
    fn set_time(&mut self, _now: Timestamp) {}

    /// The time at which the next rule or pause of a group ends, or its wait for a token.
    fn next_end(&self) -> Option<Timestamp> {
        None
    }

    /// The time from which `promote` has something to do for groups.
    fn next_stir(&self) -> Option<Timestamp> {
        None
    }

    /// The number of groups.
    fn count_groups(&self) -> usize {
        0
    }

    /// Whether a delayed message may hold a place, which is free when its time to live ends.
    fn delayed_hold_places(&self) -> bool {
        false
    }

    /// The number of ready messages, with due ones that are not promoted yet.
    fn count_ready(&mut self, now: Timestamp) -> usize;

    /// How many messages there are.
    fn len(&self) -> usize;

    /// The time since which the head of a line is ready: the earliest, if there are several lines.
    fn oldest_ready(&self, entries: &Entries, now: Timestamp) -> Option<Timestamp>;

    /// The ready messages, in delivery order.
    fn ready<'a>(&'a self, entries: &'a Entries, now: Timestamp)
    -> impl Iterator<Item = Slot> + 'a;

    /// The delayed messages, by (due, id).
    fn delayed(&self, now: Timestamp) -> impl Iterator<Item = Slot> + '_;
}

/// The order of ready messages, apart from delayed ones.
pub(crate) trait Lines: Coded + Debug + Send + 'static {
    /// Puts a message at the tail.
    fn join(&mut self, entries: &mut Entries, slot: Slot);

    /// Puts a message back, before all others.
    fn rejoin(&mut self, entries: &mut Entries, slot: Slot);

    /// Puts a message that was delayed at the tail.
    fn due(&mut self, entries: &mut Entries, slot: Slot) {
        self.join(entries, slot);
    }

    /// Notes that a message is delayed, which is new or was leased.
    fn put_off(&mut self, _entries: &mut Entries, _slot: Slot) {}

    /// Takes a message out that is leased from now on.
    fn grant(&mut self, entries: &mut Entries, slot: Slot) {
        self.remove(entries, slot);
    }

    /// Notes that a message is gone or dead.
    fn forgotten(&mut self, _entry: &StoredMessage) {}

    /// Notes that a message becomes a dead letter, before it leaves its place.
    fn dies(&mut self, _entry: &StoredMessage) {}

    /// The next message to deliver, if any may be delivered.
    fn next(&self) -> Option<Slot> {
        self.first()
    }

    /// The first in the order in which all are shown.
    fn first(&self) -> Option<Slot>;

    /// Takes a message out, wherever it is.
    fn remove(&mut self, entries: &mut Entries, slot: Slot);

    /// Notes the time of a call, before anything else.
    fn set_time(&mut self, _now: Timestamp) {}

    /// Ends rules and pauses of groups, and their waits for tokens, at most 128; and removes full buckets.
    fn stir(&mut self) {}

    /// The time at which the next of these ends.
    fn next_end(&self) -> Option<Timestamp> {
        None
    }

    /// The time from which `stir` has something to do.
    fn next_stir(&self) -> Option<Timestamp> {
        None
    }

    /// The number of groups.
    fn count_groups(&self) -> usize {
        0
    }

    /// Whether a delayed message may hold a place.
    fn delayed_hold_places(&self) -> bool {
        false
    }

    /// How many messages there are.
    fn len(&self) -> usize;

    /// The first of each line.
    fn heads(&self) -> impl Iterator<Item = Slot> + '_;

    /// All of them, in delivery order.
    fn forwards<'a>(&'a self, entries: &'a Entries) -> impl Iterator<Item = Slot> + 'a;
}

/// Lines of ready messages, and the delayed messages that join them later.
#[derive(Debug, Default)]
pub(crate) struct Lined<L> {
    pub(crate) lines: L,
    delayed: Timeline,
}

impl<L> Lined<L> {
    pub(crate) fn new(lines: L) -> Self {
        Self {
            lines,
            delayed: Timeline::default(),
        }
    }
}

impl<L: Lines> Backlog for Lined<L> {
    #[inline]
    fn join(&mut self, entries: &mut Entries, slot: Slot, now: Timestamp) {
        entries[slot].since = now;
        self.lines.join(entries, slot);
    }

    #[inline]
    fn rejoin(&mut self, entries: &mut Entries, slot: Slot, _ended: Timestamp) {
        planted!(ReturnedToTheWrongEnd => return self.lines.join(entries, slot));
        self.lines.rejoin(entries, slot);
    }

    fn delay(&mut self, entries: &mut Entries, slot: Slot, due: Timestamp) {
        let entry = &mut entries[slot];
        entry.place = EntryPlace::Due(due);
        self.delayed.insert(due, entry.id, slot);
        self.lines.put_off(entries, slot);
    }

    fn postpone(&mut self, entries: &mut Entries, slot: Slot, due: Timestamp) {
        if let EntryPlace::Due(before) = entries[slot].place {
            self.delayed.remove(before, entries[slot].id);
        }
        planted!(MovedLosesItsPlace => self.lines.rejoin(entries, slot); self.lines.remove(entries, slot));
        let entry = &mut entries[slot];
        entry.place = EntryPlace::Due(due);
        self.delayed.insert(due, entry.id, slot);
    }

    #[inline]
    fn promote(&mut self, entries: &mut Entries, now: Timestamp) {
        for _ in 0..limits::MAX_BATCH {
            let Some((due, slot)) = self.delayed.pop_until(now) else {
                break;
            };
            entries[slot].since = due;
            planted!(PromotedToTheHead => self.lines.rejoin(entries, slot); continue);
            self.lines.due(entries, slot);
        }
        self.lines.stir();
    }

    #[inline]
    fn first_ready(&self, _now: Timestamp) -> Option<Slot> {
        self.lines.next()
    }

    fn first(&self) -> Option<Slot> {
        let delayed = || self.delayed.first().map(|(_, slot)| slot);
        self.lines.first().or_else(delayed)
    }

    #[inline]
    fn grant(&mut self, entries: &mut Entries, slot: Slot) {
        self.lines.grant(entries, slot);
    }

    fn forgotten(&mut self, entry: &StoredMessage) {
        self.lines.forgotten(entry);
    }

    fn dies(&mut self, entry: &StoredMessage) {
        self.lines.dies(entry);
    }

    #[inline]
    fn remove(&mut self, entries: &mut Entries, slot: Slot) {
        let entry = &entries[slot];
        match entry.place {
            EntryPlace::Due(due) => self.delayed.remove(due, entry.id),
            _ => self.lines.remove(entries, slot),
        }
    }

    #[inline]
    fn next_due(&self) -> Option<Timestamp> {
        self.delayed.first_time()
    }

    fn next_promotion(&self) -> Option<Timestamp> {
        self.next_due()
    }

    #[inline]
    fn set_time(&mut self, now: Timestamp) {
        self.lines.set_time(now);
    }

    fn next_end(&self) -> Option<Timestamp> {
        self.lines.next_end()
    }

    #[inline]
    fn next_stir(&self) -> Option<Timestamp> {
        self.lines.next_stir()
    }

    fn count_groups(&self) -> usize {
        self.lines.count_groups()
    }

    fn delayed_hold_places(&self) -> bool {
        self.lines.delayed_hold_places()
    }

    fn count_ready(&mut self, now: Timestamp) -> usize {
        self.lines.len() + self.delayed.count_until(now)
    }

    #[inline]
    fn len(&self) -> usize {
        self.lines.len() + self.delayed.len()
    }

    fn oldest_ready(&self, entries: &Entries, _now: Timestamp) -> Option<Timestamp> {
        self.lines.heads().map(|slot| entries[slot].since).min()
    }

    fn ready<'a>(
        &'a self,
        entries: &'a Entries,
        _now: Timestamp,
    ) -> impl Iterator<Item = Slot> + 'a {
        self.lines.forwards(entries)
    }

    fn delayed(&self, _now: Timestamp) -> impl Iterator<Item = Slot> + '_ {
        self.delayed.slots()
    }
}

coded!(where L: Lines, Lined<L> { lines, delayed });
