//! The time at which a call took effect, as far as it is known.

use crate::history::CallId;

/// The time at which a call, or one entry of it, took effect: a moment if the backend reported it, else some time
/// between the call's beginning and its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// The first and the last possible place in the order of the run.
    pub(super) first: u64,
    pub(super) last: u64,
    /// The backend's earliest and latest possible time then, in ms.
    pub(super) earliest: u64,
    pub(super) latest: u64,
    /// The latest time that the backend's clock may have shown by then; the clock can step back.
    pub(super) clock: u64,
    pub(super) call: CallId,
    /// The number of the entry in the call: entries take effect one after another.
    pub(super) entry: u32,
    /// Whether this is an additional execution of the call, beside the execution that answered.
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

    /// From the beginning of this on, without an end.
    pub(super) fn or_later(self) -> Self {
        Self {
            last: u64::MAX,
            latest: u64::MAX,
            clock: u64::MAX,
            ..self
        }
    }

    /// Whether this is surely before `other`.
    pub(super) fn before(&self, other: &Self) -> bool {
        self.last < other.first || (self.is_with(other) && self.entry < other.entry)
    }

    /// Whether this is perhaps before `other`.
    pub(super) fn may_precede(&self, other: &Self) -> bool {
        let same = self.is_with(other) && self.entry == other.entry;
        !same && !other.before(self)
    }

    /// Whether this is perhaps after `one` and before `other`.
    pub(super) fn may_be_between(&self, one: &Self, other: &Self) -> bool {
        one.may_precede(self) && self.may_precede(other)
    }

    /// Whether both are entries of the same execution of the same call.
    fn is_with(&self, other: &Self) -> bool {
        self.call == other.call && self.again == other.again
    }
}
