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
    /// Whether the shutdown left nothing open: every handler ended within the drain without being stopped,
    /// and the backend confirmed every settlement since the shutdown began. If not, the counts have the rest.
    /// Messages `abandoned`, `lost`, `unsettled` or `unconfirmed` are delivered again when their leases end,
    /// unless a settlement took effect and its reply was lost.
    pub drained: bool,
}
