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
