//! How much a run measures.

use std::fmt;

/// How much a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// The effort of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Quick, Self::Full];
        all.into_iter().find(|effort| effort.to_string() == name)
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("quick", "full"))
    }
}
