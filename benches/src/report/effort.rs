//! How much a run measures.

use serde::{Deserialize, Serialize};

/// How much a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effort {
    /// Every scenario with so few jobs that its figures say nothing: for tests of the program.
    Quick,
    /// Enough for figures that hold.
    Full,
}

impl Effort {
    /// The one amount or the other.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}
