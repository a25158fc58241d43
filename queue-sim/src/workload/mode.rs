//! What may go wrong in a run, by which lanes act differently.

use crate::world::Fault;

/// What may go wrong in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Everything.
    Faults,
    /// Nothing that loses a hint: calls are late or cancelled, and whoever waits may wait long.
    /// No timer stands behind a hint, so that one that is lost is seen.
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
