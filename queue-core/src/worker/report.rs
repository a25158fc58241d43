use std::time::Duration;

use super::Counts;

/// What a worker did, and how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Everything it did.
    pub counts: Counts,
    /// How long the shutdown took.
    pub shutdown: Duration,
    /// Whether every handler ended by itself in the time it had to finish.
    pub drained: bool,
}
