//! Bugs for this crate's tests to find, one for each rule. Never enable the feature `planted` for anything else.
//!
//! While a bug is [`plant`]ed, every scheduler that this thread polls has it.

use std::{cell::Cell, marker::PhantomData, rc::Rc};

/// A bug of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A slot's message has no dedup key (C1).
    SlotWithoutAKey,
    /// A slot's message is due at once (C2).
    SlotIsDueAtOnce,
    /// Missed slots are skipped, whatever the schedule says (C3).
    MissedAreSkipped,
    /// A change leaves the slot that was pushed ahead (C4).
    ChangeLeavesTheNextSlot,
    /// A change leaves the slots that another scheduler has claimed (C4).
    ChangeLeavesTheClaimed,
    /// A slot comes though the message of the last one is there (C6).
    RunsWhileRunning,
    /// A zone has the offset that it had at the beginning of 1970 (C5).
    ZoneWithoutDaylightSaving,
    /// Only an expression of one time a day has fixed times (C5).
    OnlyOneTimeIsFixed,
    /// A time to live counts from the push, which is ahead of the slot (C2).
    TimeToLiveCountsFromThePush,
    /// A record that cannot be read fails every reading (C7).
    OneBadRecordStopsAll,
    /// A rule that cannot be read fails the listing (C7).
    OneBadRuleEndsTheListing,
    /// A record that cannot be read is neither disabled nor removed (C7).
    UnreadableStays,
    /// A slot whose message cannot be made is tried again for ever (C7).
    BadSlotIsKept,
    /// An error is reported at each try (C7).
    ErrorsAreRepeated,
    /// A panic in the function that makes messages ends the scheduler (C7).
    PanicEndsTheScheduler,
    /// A write on which others have built counts as not written (C8).
    LaterWriteHidesAnEarlier,
    /// If it cannot be seen whether a write took effect, the error says that it did not (C8).
    FailedLookSaysNotApplied,
    /// A change takes the runs away that were claimed (C8).
    ChangeLosesRuns,
    /// A change asks again for runs whose messages were pushed (C8).
    ChangeRepeatsRuns,
    /// Two runs of one millisecond have one key (C8).
    RunsShareAKey,
}

thread_local! {
    static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// A planted bug. Dropping this removes the bug.
#[derive(Debug)]
#[must_use]
pub struct Planted(PhantomData<Rc<()>>);

/// Plants a bug in all schedulers that this thread polls. A thread has one bug at a time.
pub fn plant(bug: Bug) -> Planted {
    BUG.set(Some(bug));
    Planted(PhantomData)
}

impl Drop for Planted {
    fn drop(&mut self) {
        BUG.set(None);
    }
}

/// Whether this bug is planted.
pub(crate) fn is(bug: Bug) -> bool {
    BUG.get() == Some(bug)
}
