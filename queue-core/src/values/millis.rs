//! Durations in whole milliseconds.

use std::time::Duration;

/// Whole milliseconds, rounded up, as every duration of the contract is.
///
/// ```
/// use std::time::Duration;
/// use queue_core::millis_ceil;
///
/// assert_eq!(millis_ceil(Duration::from_micros(1)), 1);
/// assert_eq!(millis_ceil(Duration::from_millis(5)), 5);
/// ```
#[inline]
pub fn millis_ceil(duration: Duration) -> u64 {
    let rest = u64::from(duration.subsec_nanos().div_ceil(1_000_000));
    let whole = duration.as_secs().saturating_mul(1_000);
    whole.saturating_add(rest)
}

/// A duration as errors and logs show it: always in whole milliseconds, rounded up, so that a reader compares
/// two of them at a glance.
///
/// ```
/// use std::time::Duration;
/// use queue_core::in_millis;
///
/// assert_eq!(in_millis(Duration::from_secs(5)), "5000 ms");
/// assert_eq!(in_millis(Duration::from_micros(1)), "1 ms");
/// ```
pub fn in_millis(duration: Duration) -> String {
    format!("{} ms", millis_ceil(duration))
}
