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
    /// Whether the shutdown left nothing open: every handler ended by itself in the time it had to
    /// finish, and every result since it began was settled, as the backend confirmed. If not, the
    /// counts say what is open: messages `abandoned`, `lost`, `unsettled` or `unconfirmed`, which
    /// come again when their leases end, if the lost answer was not that they are done.
    pub drained: bool,
}
