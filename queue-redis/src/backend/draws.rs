//! Numbers from which recipes make names that nobody else has.

use std::sync::atomic::{AtomicU64, Ordering};

/// A backend's seed, and how many numbers it has given out.
#[derive(Debug)]
pub(crate) struct Draws {
    seed: u64,
    given: AtomicU64,
}

impl Draws {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            given: AtomicU64::new(0),
        }
    }

    /// Random, and no other backend's.
    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// The next number of this backend. Each number is given out once, whichever handle asks.
    pub(crate) fn next(&self) -> u64 {
        self.given.fetch_add(1, Ordering::Relaxed)
    }
}
