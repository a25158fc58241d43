//! The backend's time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use queue_core::Timestamp;
use tokio::time::Instant;

#[cfg(feature = "journal")]
thread_local! {
    static SET: std::cell::Cell<Option<Timestamp>> = const { std::cell::Cell::new(None) };
}

/// Does work at this time: calls of this thread read it in place of the clock.
#[cfg(feature = "journal")]
pub fn at<R>(now: Timestamp, work: impl FnOnce() -> R) -> R {
    let before = SET.replace(Some(now));
    let answer = work();
    SET.set(before);
    answer
}

/// The time that [`at`] set.
#[inline]
fn set() -> Option<Timestamp> {
    #[cfg(feature = "journal")]
    return SET.get();
    #[cfg(not(feature = "journal"))]
    None
}

/// Means never. Every clock can still show it.
const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// A clock that runs as tokio's does, so that it stands still and jumps in tests that start paused.
/// It starts with the system's time at its creation.
///
/// It never goes back, even if the system's clock is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryClock {
    start: Instant,
    base: u64,
}

/// The millisecond in which a queue was last used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Millisecond {
    time: Timestamp,
    end: Instant,
}

impl MemoryClock {
    pub(crate) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        // Rounded down: a due time that a caller took from the system's clock is rounded up, and so
        // never early.
        let base = since.unwrap_or_default().as_millis();
        Self::showing(Timestamp::from_millis(u64::try_from(base).unwrap_or(0)))
    }

    /// A clock that shows `time` now.
    pub(crate) fn showing(now: Timestamp) -> Self {
        Self {
            start: Instant::now(),
            base: now.as_millis(),
        }
    }

    /// The clock's first millisecond.
    pub(crate) fn first(&self) -> Millisecond {
        Millisecond {
            time: Timestamp::from_millis(self.base),
            end: self.start,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        set().unwrap_or_else(|| self.time(Instant::now()))
    }

    /// The clock's time at this instant.
    fn time(&self, instant: Instant) -> Timestamp {
        let since = instant.saturating_duration_since(self.start);
        let millis = since.as_secs() * 1000 + u64::from(since.subsec_millis());
        Timestamp::from_millis(self.base + millis)
    }

    /// [`now`](Self::now), computed only if the millisecond is over, because comparing instants costs less
    /// than subtracting them. It does not go back for a call that read its instant before another call.
    #[inline]
    pub(crate) fn time_from(&self, instant: Instant, last: &mut Millisecond) -> Timestamp {
        if let Some(now) = set() {
            return now;
        }
        if instant >= last.end {
            let time = self.time(instant);
            *last = Millisecond {
                time,
                end: self.instant(time.plus_millis(1)),
            };
        }
        last.time
    }

    /// Whether this instant is not in the future.
    pub(crate) fn has_come(instant: Instant) -> bool {
        Instant::now() >= instant
    }

    /// The first instant at which [`now`](Self::now) shows this time.
    pub(crate) fn instant(&self, time: Timestamp) -> Instant {
        let since = Duration::from_millis(time.as_millis().saturating_sub(self.base));
        self.start.checked_add(since).unwrap_or_else(never)
    }
}

/// The instant after this timeout, or [`NEVER`] if that is sooner.
pub(crate) fn after(timeout: Duration) -> Instant {
    Instant::now().checked_add(timeout).unwrap_or_else(never)
}

fn never() -> Instant {
    Instant::now() + NEVER
}
