//! Which steps a failover may undo (R1).

/// When a call was made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Made {
    era: usize,
    confirmed: bool,
}

impl Made {
    /// The call of this time, if what it changed is known to be at a replica (R2).
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Risk {
    None,
    /// The failover of its time may undo it.
    Undone,
    /// And its history may have gone on beside the one that lives on.
    Beside,
}

/// The failovers so far. What was answered before one begins is at the replica; what is answered by the new
/// primary alone, which is so once it is over, stays.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    begun: usize,
    ended: usize,
    has_two: bool,
}

impl Histories {
    /// A failover begins. In one that `has_two` primaries for a while, clients may ask either.
    pub(crate) fn begin(&mut self, has_two: bool) {
        assert_eq!(self.begun, self.ended, "one after another");
        self.begun += 1;
        self.has_two = has_two;
    }

    pub(crate) fn end(&mut self) {
        self.ended += 1;
        assert_eq!(self.begun, self.ended, "it had begun");
    }

    pub(crate) fn make(&self) -> Made {
        Made {
            era: self.begun + self.ended,
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
        }
    }
}

impl Step {
    pub(crate) fn may_be_undone(self) -> bool {
        self.risk != Risk::None
    }

    /// Whether these may be steps of two histories: then neither need know of the other.
    pub(crate) fn may_be_apart(self, later: Self) -> bool {
        // What was answered before the failover is in both histories.
        let beside = later.risk == Risk::Beside && self.begun >= later.begun;
        self.may_be_undone() || beside
    }
}
