//! How long a message may wait to be delivered (L17).

use std::time::Duration;

use super::{Due, Error, Result, in_millis, limits, millis_ceil};

/// How long a message may wait, counted from its push, and how it ends after that time (L17).
///
/// From the end of that time on, the message is outdated: the queue does not deliver it again, and drops or
/// buries it. A consumer that holds it by then may finish it.
///
/// ```
/// use std::time::Duration;
/// use queue_core::{Push, TimeToLive};
///
/// // A code that nobody can use after five minutes.
/// let code = Push::new("your code: 4711")
///     .with_time_to_live(TimeToLive::drop_after(Duration::from_secs(300)));
/// # let _ = code;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeToLive {
    /// 1 ms to 2^47 ms, rounded up to a millisecond.
    pub limit: Duration,
    /// How an outdated message ends.
    pub then: Outdated,
}

/// How an outdated message ends (L17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outdated {
    /// It is gone, and counted as outdated.
    Drop,
    /// It goes to the dead letters, with [`DeathReason::Outdated`](crate::DeathReason::Outdated).
    Bury,
}

impl TimeToLive {
    /// The queue drops the message once this time is over.
    pub const fn drop_after(limit: Duration) -> Self {
        Self {
            limit,
            then: Outdated::Drop,
        }
    }

    /// The queue moves the message to the dead letters once this time is over.
    pub const fn bury_after(limit: Duration) -> Self {
        Self {
            limit,
            then: Outdated::Bury,
        }
    }

    /// Checks the limit, and that a delay of the message leaves some of it.
    ///
    /// # Errors
    ///
    /// `Invalid` if the time is zero or too long, or over before the message is due.
    pub fn check(self, due: Option<Due>) -> Result<()> {
        let limit = limits::time_to_live_millis(self.limit)?;
        match due {
            Some(Due::After(delay)) if millis_ceil(delay) >= limit => Err(Error::invalid(format!(
                "a time to live of {} and a delay of {}: both count from the push, so nobody \
                     would receive the message; let it live longer than its delay",
                in_millis(self.limit),
                in_millis(delay)
            ))),
            _ => Ok(()),
        }
    }
}
