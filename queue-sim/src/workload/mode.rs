//! The faults that a run may have. Lanes act differently by them.

use crate::world::Fault;

/// The faults that a run may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// All faults.
    Faults,
    /// Only faults that lose no hint: they delay or cancel calls, and waits may be long. No timer
    /// stands behind a hint, so a lost one shows.
    Waiting,
}

impl Mode {
    /// Whether this fault strikes in this mode.
    pub(crate) const fn allows(self, fault: Fault) -> bool {
        match self {
            Self::Faults => true,
            Self::Waiting => matches!(fault, Fault::Delayed | Fault::Cancelled | Fault::Spurious),
        }
    }
}
