//! Which steps a failover may undo (R1), and which history of its queue a step belongs to: a removal begins the
//! next.

use std::time::Instant;

/// When a call was made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    era: usize,
    /// How many removals had begun, and how many were over.
    removals: (usize, usize),
    at: Instant,
    confirmed: bool,
}

impl Made {
    /// The same call, if its changes are known to be at a replica (R2).
    pub(crate) const fn confirmed(self, confirmed: bool) -> Self {
        Self { confirmed, ..self }
    }

    pub(crate) const fn is_confirmed(self) -> bool {
        self.confirmed
    }
}

/// A call that was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// How many failovers had begun by its answer.
    begun: usize,
    risk: Risk,
    /// The first history that it may belong to, and the last.
    histories: (usize, usize),
    made: Instant,
    answered: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Risk {
    None,
    /// A failover that was under way during the call may undo it.
    Undone,
    /// The call's history may also have continued beside the surviving history.
    Beside,
}

/// The failovers and removals so far. Calls answered before a failover begins are at the replica. Calls
/// answered after the failover ends come from the new primary alone, and stay. Calls answered before a
/// removal begins are gone when the removal is over.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    begun: usize,
    ended: usize,
    has_two: bool,
    removals: (usize, usize),
}

impl Histories {
    /// A failover begins. If it `has_two` primaries for a while, clients may call either.
    pub(crate) fn begin(&mut self, has_two: bool) {
        assert_eq!(self.begun, self.ended, "one after another");
        self.begun += 1;
        self.has_two = has_two;
    }

    pub(crate) fn end(&mut self) {
        self.ended += 1;
        assert_eq!(self.begun, self.ended, "it had begun");
    }

    /// The queue is about to be removed.
    pub(crate) fn removal_begins(&mut self) {
        assert_eq!(self.removals.0, self.removals.1, "one after another");
        self.removals.0 += 1;
    }

    /// All of the queue was removed.
    pub(crate) fn removal_is_over(&mut self) {
        self.removals.1 += 1;
        assert_eq!(self.removals.0, self.removals.1, "it had begun");
    }

    /// How many histories of the queue are over.
    pub(crate) const fn over(&self) -> usize {
        self.removals.1
    }

    pub(crate) fn make(&self) -> Made {
        Made {
            era: self.begun + self.ended,
            removals: self.removals,
            at: Instant::now(),
            confirmed: false,
        }
    }

    /// The answer of a call.
    pub(crate) fn answer(&self, made: Made) -> Step {
        let between = self.begun == self.ended && made.era == self.begun + self.ended;
        let risk = match (between || made.confirmed, self.has_two) {
            (true, _) => Risk::None,
            (false, false) => Risk::Undone,
            (false, true) => Risk::Beside,
        };
        Step {
            begun: self.begun,
            risk,
            histories: (made.removals.1, self.removals.0),
            made: made.at,
            answered: Instant::now(),
        }
    }
}

impl Step {
    pub(crate) fn may_be_undone(self) -> bool {
        self.risk != Risk::None
    }

    /// Whether these steps may belong to two histories: then neither must reflect the other.
    pub(crate) fn may_be_apart(self, later: Self) -> bool {
        // Calls answered before the failover are in both histories.
        let beside = later.risk == Risk::Beside && self.begun >= later.begun;
        let same = self.history().is_some() && self.history() == later.history();
        self.may_be_undone() || beside || !same
    }

    /// The step's history, if no removal was under way.
    pub(crate) fn history(self) -> Option<usize> {
        let (first, last) = self.histories;
        (first == last).then_some(first)
    }

    /// Whether it may belong to this history.
    pub(crate) fn may_be_in(self, history: usize) -> bool {
        (self.histories.0..=self.histories.1).contains(&history)
    }

    /// Whether a removal came between the two.
    pub(crate) const fn is_removed_before(self, later: Self) -> bool {
        self.histories.1 < later.histories.0
    }

    /// Whether the call of this step ended before the later one began.
    pub(crate) fn is_over_before(self, later: Self) -> bool {
        self.answered < later.made
    }

    pub(crate) const fn is_before_failovers(self) -> bool {
        self.begun == 0
    }

    pub(crate) const fn made(self) -> Instant {
        self.made
    }

    pub(crate) const fn answered(self) -> Instant {
        self.answered
    }
}
