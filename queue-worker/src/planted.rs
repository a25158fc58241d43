//! Bugs for this crate's tests to find. Never enable the feature `planted` for anything else.
//!
//! While a bug is [`plant`]ed, every worker that this thread polls has it.

use std::{cell::Cell, marker::PhantomData, rc::Rc};

/// A bug of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// A batch of which one lease is lost settles none of its results.
    BatchLostWithOneLease,
    /// A bury by a handler that had to stop becomes a release.
    StopReleasesTheBuried,
    /// After the cleanup the worker gives up the results that are left.
    NoLastCall,
    /// A call for a batch takes a slot for each of its messages.
    BatchTakesMoreSlots,
    /// A message whose settlement is refused is not buried.
    NoBurial,
    /// The worker buries a message that it cannot release.
    BuriesTheReleased,
    /// Results are given up although the backend refuses all.
    GivesUpAllResults,
    /// A result that perhaps took effect counts as one that did not.
    ForgetsDoubt,
    /// A result that fails for the moment while it is sent alone counts as refused.
    TakesOutagesForRefusals,
    /// Heartbeats go on for a lease that cannot be extended.
    ExtendsTheRefused,
    /// Leases are left out although the backend extends none.
    LeavesOutAllLeases,
    /// An extension whose progress is refused is not repeated without it.
    ProgressCostsTheLease,
    /// Refused progress is sent again.
    RepeatsRefusedProgress,
    /// A handler does not get the error of its extension.
    NoReply,
    /// A step returns before its result is stored (W2).
    StepReturnsBeforeItIsStored,
    /// Children are pushed without dedup keys (W3).
    ChildWithoutKey,
    /// A join ends when its job comes back, whatever its children do (W4).
    JoinTrustsTheHint,
    /// A join waits for dead children, too (W4).
    JoinForgetsTheDead,
}

thread_local! {
    static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// A planted bug. Dropping this removes the bug.
#[derive(Debug)]
#[must_use]
pub struct Planted(PhantomData<Rc<()>>);

/// Plants a bug in all workers that this thread polls. A thread has one bug at a time.
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
