//! Time in whole milliseconds. The backend's clock decides; nothing here reads one.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::{Error, Result, Token, limits, millis_ceil};

/// A point in the backend's time: whole milliseconds since 1970-01-01 UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// This many milliseconds after 1970-01-01 UTC.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01 UTC.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this, or zero if `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// This time plus this many milliseconds.
    #[must_use]
    pub const fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

impl Token {
    /// The time of the lease, in whole milliseconds of the backend's clock. It is ahead of that clock after the clock was
    /// set back, and after more than a million leases in a second.
    pub const fn leased_at(self) -> Timestamp {
        Timestamp::from_millis(self.get() / Self::PER_MILLI)
    }
}

impl From<SystemTime> for Timestamp {
    /// Rounds up to a whole millisecond; a time before 1970 becomes 0.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(millis_ceil(since))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

/// When a message is due.
///
/// A duration counts from the moment the backend accepts the message, by the backend's clock.
/// [`Duration`] and [`SystemTime`] convert into this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Due {
    /// This duration after the backend accepts the message, at most [`limits::MAX_DELAY`]; rounded up to a
    /// millisecond, so that the message is never early (D1).
    After(Duration),
    /// At this time by the backend's clock, before the year 10000 ([`limits::MAX_TIME`]). A time in
    /// the past means now.
    At(Timestamp),
}

impl Due {
    /// Checks the limits.
    ///
    /// # Errors
    ///
    /// `Invalid` if it is too far away.
    pub fn check(self) -> Result<()> {
        match self {
            Self::After(delay) => limits::delay_millis(delay).map(drop),
            Self::At(time) if self.is_too_far() => Err(too_far(time)),
            Self::At(_) => Ok(()),
        }
    }

    /// Whether [`check`](Self::check) refuses it.
    #[inline]
    pub(crate) fn is_too_far(self) -> bool {
        match self {
            Self::After(delay) => delay > limits::MAX_DELAY,
            Self::At(time) => time.as_millis() >= limits::MAX_TIME,
        }
    }

    /// The due time counted from `now`, and never before it.
    #[inline]
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::After(delay) => now.plus_millis(millis_ceil(delay)),
            Self::At(time) => time.max(now),
        }
    }
}

/// The error of a due time beyond the year 9999.
fn too_far(time: Timestamp) -> Error {
    let (unit, divisor) = match time.as_millis() / 1_000 {
        0..limits::MAX_TIME => ("microseconds", "1,000"),
        _ => ("nanoseconds", "1,000,000"),
    };
    Error::invalid(format!(
        "due at {time} since 1970, beyond the year 9999: must be before {} ms. It looks like {unit} \
         taken for milliseconds: divide by {divisor}",
        limits::MAX_TIME
    ))
}

impl From<Duration> for Due {
    fn from(delay: Duration) -> Self {
        Self::After(delay)
    }
}

impl From<Timestamp> for Due {
    fn from(time: Timestamp) -> Self {
        Self::At(time)
    }
}

impl From<SystemTime> for Due {
    fn from(time: SystemTime) -> Self {
        Self::At(time.into())
    }
}
