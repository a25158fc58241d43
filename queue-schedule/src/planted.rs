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
