//! Points in time after a duration that a user chose.

use std::time::Duration;

use tokio::time::Instant;

/// Means never: an `Instant` cannot hold every `Duration`.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Adds a time, cut to 30 years.
pub(crate) fn after(now: Instant, time: Duration) -> Instant {
    now + time.min(FAR)
}
