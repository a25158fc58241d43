//! The faults that a run may have. Processes act differently in each mode.

use crate::{named::named, world::Fault};

named! {
    /// The faults that a run may have.
    pub enum Mode {
        /// All faults.
        Faults = "faults",
        /// Only faults that lose no hint: they delay or cancel calls, and waits may be long. No timer backs up a hint,
        /// so a lost hint shows.
        Waiting = "waiting",
    }
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
