//! Time stamps that producers put into headers: when a message was pushed, and when it was due.

use std::time::SystemTime;

use super::{Due, Headers, Timestamp};

/// The header for when the message was pushed.
const PUSHED: &str = "queue-kit-pushed-ms";

/// The header for when it was due.
const DUE: &str = "queue-kit-due-ms";

/// Time stamps, from which a worker measures how long messages waited. The producer sets them, by its own
/// clock; queues neither set nor read them.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use queue_core::{Headers, Push};
///
/// let now = SystemTime::now();
/// let headers = Headers::new()
///     .with_pushed_at(now)
///     .with_due_at(Duration::from_secs(60), now);
/// let push = Push::new("remind").with_headers(headers);
/// let (pushed, due) = (push.headers.pushed_at().unwrap(), push.headers.due_at().unwrap());
/// assert_eq!(due.since(pushed), Duration::from_secs(60));
/// ```
impl Headers {
    /// Stamps the time of the push.
    #[must_use]
    pub fn with_pushed_at(self, now: SystemTime) -> Self {
        self.with(PUSHED, Timestamp::from(now).as_millis().to_string())
    }

    /// Stamps the due time. A [`Due::At`] is exact, by the backend's clock; a duration counts from
    /// the producer's `now`.
    #[must_use]
    pub fn with_due_at(self, due: impl Into<Due>, now: SystemTime) -> Self {
        let due = due.into().resolve(Timestamp::from(now));
        self.with(DUE, due.as_millis().to_string())
    }

    /// When the message was pushed, if its producer said so.
    pub fn pushed_at(&self) -> Option<Timestamp> {
        self.time(PUSHED)
    }

    /// When the message was due, if its producer said so.
    pub fn due_at(&self) -> Option<Timestamp> {
        self.time(DUE)
    }

    fn time(&self, name: &str) -> Option<Timestamp> {
        self.get(name)?.parse().ok().map(Timestamp::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn stamps_are_read_as_they_were_set() {
        let now = UNIX_EPOCH + Duration::from_millis(5_000);
        let headers = Headers::new().with_pushed_at(now);
        assert_eq!(headers.pushed_at(), Some(Timestamp::from_millis(5_000)));
        assert_eq!(headers.due_at(), None);
        let later = headers.clone().with_due_at(Duration::from_millis(7), now);
        assert_eq!(later.due_at(), Some(Timestamp::from_millis(5_007)));
        let past = headers.with_due_at(Timestamp::from_millis(1), now);
        assert_eq!(past.due_at(), past.pushed_at(), "a past time means now");
    }

    #[test]
    fn malformed_times_in_headers_are_none() {
        let headers = Headers::new().with(PUSHED, "yesterday").with(DUE, "-1");
        assert_eq!((headers.pushed_at(), headers.due_at()), (None, None));
    }
}
