//! Bugs for the tests to find. Never enable the feature `planted` for anything else.

use std::cell::Cell;

/// A bug of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// An answer goes before its record is durable.
    AnswersBeforeTheSync,
    /// A stored state has not the last record that it claims.
    StateDropsARecord,
    /// Records go that a queue needs.
    TrimsTooFar,
    /// Two processes may have one folder.
    LockIsNotHeld,
    /// The clock goes back at a restart.
    TimeGoesBack,
    /// A sync that failed is repeated, and believed.
    FailedSyncIsRetried,
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Plants a bug in what this thread does, in place of any other.
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

pub(crate) fn is(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}
