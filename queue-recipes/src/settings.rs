//! The ranges of the recipes' settings. A value out of range is `Invalid` when a queue opens.

use std::time::Duration;

use queue_core::{Error, Result, in_millis};

/// The shortest time between two polls, and of a blocking pop: the server takes zero as for ever, and constant polling
/// would overload the server.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest time between two polls, and of a blocking pop: 7 days.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The longest time between a push and its due time: ten years.
const LONGEST_DELAY: Duration = Duration::from_secs(3_650 * 24 * 60 * 60);

/// Checks an interval or a timeout: 1 ms to 7 days.
pub(crate) fn check_time(setting: &str, value: Duration) -> Result<()> {
    within(setting, value, SHORTEST, LONGEST)
}

/// Checks a time that may be zero: up to 7 days.
pub(crate) fn check_time_or_none(setting: &str, value: Duration) -> Result<()> {
    within(setting, value, Duration::ZERO, LONGEST)
}

/// Checks the delay of all messages: up to ten years.
pub(crate) fn check_delay(setting: &str, value: Duration) -> Result<()> {
    within(setting, value, Duration::ZERO, LONGEST_DELAY)
}

/// Checks a count of messages: 1 to `most`.
pub(crate) fn check_count(setting: &str, value: usize, most: usize) -> Result<()> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{setting}` of {value}: between 1 and {most} is allowed"
    )))
}

fn within(setting: &str, value: Duration, least: Duration, most: Duration) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let (least, most) = (in_millis(least), in_millis(most));
    Err(Error::invalid(format!(
        "`{setting}` of {value:?}: between {least} and {most} is allowed"
    )))
}
