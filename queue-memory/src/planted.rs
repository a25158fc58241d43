//! Bugs for a simulator to find. Never enable the feature `planted` for anything else.
//!
//! Checks that find nothing prove little unless they are seen to find what is there. Each [`Bug`]
//! is one that queues have had; while it is [`plant`]ed, every queue that this thread calls has
//! it. A hook in the state machine, `planted!(TokenReused)`, asks whether that is so. Without the
//! feature it is the literal `false`, this module is not compiled, and what hangs on a hook is
//! gone with it.

use std::{cell::Cell, cmp::Reverse, marker::PhantomData, rc::Rc};

use queue_core::{MessageId, Timestamp};

use crate::state::{Entries, Entry, Place, Slot};

/// What can be wrong with a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bug {
    /// Whoever knows a message's id can settle and extend the lease on it.
    AckIgnoresTheToken,
    /// A lease lives while now ≤ deadline.
    LiveAtItsDeadline,
    /// Settling takes back nothing first and does not look at the deadline.
    AckAfterExpiry,
    /// Extending takes back nothing first and does not look at the deadline.
    ExtendRevivesTheExpired,
    /// Two deliveries within a millisecond have the same token.
    TokenReused,
    /// Retry, defer and release answer well and leave the lease as it is.
    NackKeepsItsLease,
    /// What is handed out is never taken back.
    PopWithoutALease,
    /// A lease is timed from the push.
    TimedFromThePush,
    /// Extending never shortens a lease.
    ExtendTakesTheLater,
    /// What comes back stands at the end; on a delay queue, before what was due earlier.
    ReturnedToTheWrongEnd,
    /// A promoted message goes before all others.
    PromotedToTheHead,
    /// A lease that expires costs no attempt.
    ExpiryIsFree,
    /// Releasing costs the attempt.
    ReleaseCharges,
    /// No message dies of its attempts.
    PoisonCircles,
    /// A paused queue hands out messages.
    LeasesWhilePaused,
    /// A duplicate makes the mark live a window longer.
    DuplicateExtendsTheMark,
    /// A push that is refused for want of room leaves a mark.
    RefusalLeavesAMark,
    /// Capacity is looked at before marks.
    FullBeforeDuplicate,
    /// A full list of dead letters drops the new one.
    TrimDropsTheNewest,
    /// One dead letter more than the cap is kept.
    DeadLetterTooMany,
    /// A revived message has no attempts left but those it had.
    RevivalKeepsAttempts,
    /// A revived message has priority 0.
    RevivalLosesPriority,
    /// A revived message goes where there is no room.
    RevivalIgnoresCapacity,
    /// What was put in last is handed out first, of what is equally urgent.
    LastInFirstOut,
    /// The latest due message is handed out first.
    LatestFirst,
    /// Of two messages due at once the one whose id sorts first as text goes first.
    TextualTies,
    /// Priority and arrival share 32 bits.
    PackingOverflows,
    /// A retried message keeps its arrival.
    RetryKeepsArrival,
    /// Cancelling answers `Cancelled` whether or not it removed something.
    UncheckedRemoval,
    /// One message more than the capacity is let in.
    CapacityOffByOne,
    /// The newest undelivered message is dropped instead of the next.
    EvictsTheNewest,
    /// A delayed message is dropped before those that are ready.
    EvictsTheDelayed,
    /// For want of others, a leased message is dropped.
    EvictsTheLeased,
    /// A message with a distinct key goes before all others.
    KeyedGoesFirst,
    /// A message's distinct key is free once it was handed out.
    KeyFreedAtDelivery,
    /// A new item is visited before all others.
    InsertedNearTheFront,
    /// Removing takes the item at the head, whatever was asked for.
    RemovesTheHead,
    /// A call visits an item again that it has visited.
    VisitsTwice,
    /// The pace counts from when the item was due, not from its visit.
    PaceFromTheDueTime,
    /// Nothing that arrives wakes anybody.
    ArrivalWakesNobody,
    /// No room that is made wakes anybody.
    RoomWakesNobody,
    /// An earlier due time is not told to who sleeps towards a later one.
    EarlierWakesNobody,
    /// Who was told leaves in a step of its own, and may be rung once more before.
    ToldBeforeItLeaves,
}

thread_local! {
    static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// A planted bug. Dropping it takes the bug out.
#[derive(Debug)]
#[must_use]
pub struct Planted(PhantomData<Rc<()>>);

/// Gives all queues a bug, as far as they are called on this thread; one at a time.
pub fn plant(bug: Bug) -> Planted {
    BUG.set(Some(bug));
    Planted(PhantomData)
}

impl Drop for Planted {
    fn drop(&mut self) {
        BUG.set(None);
    }
}

pub(crate) fn is(bug: Bug) -> bool {
    BUG.get() == Some(bug)
}

/// Which message is handed out instead of the first.
pub(crate) fn delivered(first: Option<Slot>, entries: &Entries, now: Timestamp) -> Option<Slot> {
    let is_ready = |entry: &Entry| match entry.place {
        Place::Line | Place::Returned => true,
        Place::Due(due) => due <= now,
        Place::Leased { .. } => false,
    };
    let due = |entry: &Entry| match entry.place {
        Place::Due(due) => due,
        _ => entry.since,
    };
    let ready = entries.iter().filter(|(_, entry)| is_ready(entry));
    let found = match BUG.get() {
        Some(Bug::LastInFirstOut) => ready.max_by_key(|(_, entry)| (entry.priority, entry.id)),
        Some(Bug::LatestFirst) => ready.max_by_key(|(_, entry)| (due(entry), Reverse(entry.id))),
        Some(Bug::TextualTies) => ready.min_by_key(|(_, entry)| (due(entry), text(entry.id))),
        Some(Bug::PackingOverflows) => ready.min_by_key(|(_, entry)| packed(entry)),
        _ => return first,
    };
    found.map(|(slot, _)| slot)
}

/// Which message is dropped instead of the next.
pub(crate) fn evicted(first: Option<Slot>, entries: &Entries) -> Option<Slot> {
    let is_delayed = |entry: &Entry| matches!(entry.place, Place::Due(_));
    let mut undelivered = entries.iter().filter(|(_, entry)| !entry.is_leased());
    let found = match BUG.get() {
        Some(Bug::EvictsTheNewest) => undelivered.max_by_key(|(_, entry)| entry.id),
        Some(Bug::EvictsTheDelayed) => undelivered.find(|(_, entry)| is_delayed(entry)),
        _ => None,
    };
    found.map(|(slot, _)| slot).or(first)
}

fn text(id: MessageId) -> String {
    id.get().to_string()
}

fn packed(entry: &Entry) -> i32 {
    let arrival = (entry.arrival.as_millis() % (1 << 17)) as i32;
    arrival.wrapping_sub(i32::from(entry.priority) << 17)
}
