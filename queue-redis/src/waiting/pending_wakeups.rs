//! Changes that only this process knows of, and for which none of its callers may be waiting.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::time::Instant;

/// The next change at each marker that a caller here found when it was woken to poll, or waited for.
///
/// Other callers know nothing of it, and may sleep past it. The caller mostly waits again at once, in time for the
/// change; otherwise another caller is notified.
#[derive(Debug, Default)]
pub(super) struct PendingWakeups(BTreeMap<Bytes, PendingWakeup>);

/// A change, and when to notify another caller, unless a caller here waits for the change by then.
#[derive(Debug, Clone, Copy)]
struct PendingWakeup {
    change: Instant,
    notify_at: Instant,
}

impl PendingWakeups {
    /// Adds a change. If no caller here waits for it by `notify_at`, another caller is notified, because it needs to
    /// know until when to sleep.
    pub(super) fn add(&mut self, marker: &Bytes, change: Instant, notify_at: Instant) {
        let new = PendingWakeup { change, notify_at };
        let known = self.0.entry(marker.clone()).or_insert(new);
        known.change = change.min(known.change);
        known.notify_at = notify_at.min(known.notify_at);
    }

    /// Removes a change, because a caller that knows of it now waits.
    pub(super) fn take_over(&mut self, marker: &Bytes, change: Instant) {
        let known = self.0.get(marker);
        if known.is_some_and(|pending| change <= pending.change) {
            self.0.remove(marker);
        }
    }

    /// The next time to notify a caller of a change.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().map(|pending| pending.notify_at).min()
    }

    /// Removes and returns the markers whose callers have to be notified by this time.
    pub(super) fn take_due(&mut self, until: Instant) -> Vec<Bytes> {
        let all = std::mem::take(&mut self.0).into_iter();
        let (due, later): (BTreeMap<_, _>, _) =
            all.partition(|(_, pending)| pending.notify_at <= until);
        self.0 = later;
        due.into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MARKER: Bytes = Bytes::from_static(b"marker");
    const OTHER: Bytes = Bytes::from_static(b"other");

    #[test]
    fn the_first_change_at_a_marker_is_notified_once() {
        let mut pending = PendingWakeups::default();
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        pending.add(&MARKER, after(20), after(20));
        pending.add(&MARKER, after(10), after(10));
        pending.add(&OTHER, after(30), after(30));
        assert_eq!(pending.next(), Some(after(10)));
        assert_eq!(pending.take_due(after(10)), [MARKER]);
        assert_eq!(pending.next(), Some(after(30)));
        assert_eq!(pending.take_due(after(30)), [OTHER]);
        assert_eq!(pending.next(), None);
    }

    #[test]
    fn another_waiter_is_notified_before_the_change_if_the_first_does_not_wait_again_soon() {
        let mut pending = PendingWakeups::default();
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        pending.add(&MARKER, after(1000), after(10));
        pending.take_over(&MARKER, after(1000));
        pending.add(&MARKER, after(1000), after(20));
        assert_eq!(pending.next(), Some(after(20)));
    }

    #[test]
    fn a_waiter_that_knows_of_the_change_takes_it_over() {
        let mut pending = PendingWakeups::default();
        let change = Instant::now();
        pending.add(&MARKER, change, change);
        // This caller knows only of a later change.
        pending.take_over(&MARKER, change + Duration::from_millis(1));
        assert_eq!(pending.next(), Some(change));
        pending.take_over(&MARKER, change);
        assert_eq!(pending.next(), None);
    }
}
