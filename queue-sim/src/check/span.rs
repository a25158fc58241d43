//! When something took effect, as far as that is known.

use crate::history::CallId;

/// When a call, or one entry of it, took effect: at a moment if the backend told, else somewhere
/// between the call's beginning and its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The first and the last place in the order of the run where that may have been.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The backend's time then, at the earliest and at the latest, in ms.
    pub(super) earliest: u64,
    pub(super) latest: u64,
    /// The furthest that the backend's clock may have come by then: it can step back.
    pub(super) clock: u64,
    pub(super) call: CallId,
    /// Which entry of the call: they act one after another.
    pub(super) entry: u32,
    /// Whether it is what the call did when it was executed once more than it was answered.
    pub(super) again: bool,
}

impl Span {
    pub(super) const NEVER: Self = Self {
        first: 0,
        last: 0,
        earliest: 0,
        latest: 0,
        clock: 0,
        call: CallId(0),
        entry: 0,
        again: false,
    };

    /// Surely before the other.
    pub(super) fn before(&self, other: &Self) -> bool {
        self.last < other.first || (self.is_with(other) && self.entry < other.entry)
    }

    /// Perhaps before the other.
    pub(super) fn may_precede(&self, other: &Self) -> bool {
        let same = self.is_with(other) && self.entry == other.entry;
        !same && !other.before(self)
    }

    /// Perhaps after the one and before the other.
    pub(super) fn may_be_between(&self, one: &Self, other: &Self) -> bool {
        one.may_precede(self) && self.may_precede(other)
    }

    /// Whether both are entries of the same execution of the same call.
    fn is_with(&self, other: &Self) -> bool {
        self.call == other.call && self.again == other.again
    }
}
