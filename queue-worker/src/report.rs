use std::time::Duration;

use super::Counts;

/// A worker's counts and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The worker's counts.
    pub counts: Counts,
    /// The length of the shutdown.
    pub shutdown: Duration,
    /// Whether the shutdown left nothing open: every handler ended by itself within the drain, and
    /// the backend confirmed every settlement since the shutdown began. If not, the counts tell the
    /// rest: messages `abandoned`, `lost`, `unsettled` or `unconfirmed` come again when their
    /// leases end, unless a lost reply said that they are done.
    pub drained: bool,
}
