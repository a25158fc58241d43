//! Changes that only this process knows of, and for which none of its callers may be waiting.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// The next change at each marker that a caller here found when it was woken to poll, or waited for.
///
/// Other callers know nothing of it, and may sleep past it. The caller mostly waits again at once, in time for the
/// change; otherwise another caller is notified.
#[derive(Debug, Default)]
pub(super) struct PendingWakeups {
    changes: Mutex<BTreeMap<Bytes, PendingWakeup>>,
    changed: Notify,
}

/// A change, and when to notify another caller, unless a caller here waits for the change by then.
#[derive(Debug, Clone, Copy)]
struct PendingWakeup {
    change: Instant,
    tell: Instant,
}

impl PendingWakeups {
    /// Adds a change: a notified caller polled, and found only this future change.
    pub(super) fn add(&self, marker: &Bytes, change: Instant) {
        self.add_until(marker, change, change);
    }

    /// The same for a change that a caller waited for until now. If it does not wait again by `tell`, another caller is
    /// notified, because it needs to know until when to sleep.
    pub(super) fn add_until(&self, marker: &Bytes, change: Instant, tell: Instant) {
        let mut changes = self.lock();
        let new = PendingWakeup { change, tell };
        let known = changes.entry(marker.clone()).or_insert(new);
        known.change = change.min(known.change);
        known.tell = tell.min(known.tell);
        drop(changes);
        self.changed.notify_one();
    }

    /// Removes a change, because a caller that knows of it now waits.
    pub(super) fn take_over(&self, marker: &Bytes, change: Instant) {
        let mut changes = self.lock();
        if changes
            .get(marker)
            .is_some_and(|pending| change <= pending.change)
        {
            changes.remove(marker);
        }
    }

    /// Waits until others have to be notified of changes, and returns the markers. If it is dropped before that, it
    /// removes nothing.
    pub(super) async fn due(&self) -> Vec<Bytes> {
        loop {
            let first = self.lock().values().map(|pending| pending.tell).min();
            let Some(first) = first else {
                self.changed.notified().await;
                continue;
            };
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                () = sleep_until(first) => return self.take(first),
            }
        }
    }

    fn take(&self, until: Instant) -> Vec<Bytes> {
        let mut changes = self.lock();
        let (due, later) = std::mem::take(&mut *changes)
            .into_iter()
            .partition(|(_, pending)| pending.tell <= until);
        *changes = later;
        let due: BTreeMap<Bytes, PendingWakeup> = due;
        due.into_keys().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Bytes, PendingWakeup>> {
        // No code panics between two changes of the map, so it is consistent.
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const MARKER: Bytes = Bytes::from_static(b"marker");

    fn after(millis: u64) -> Instant {
        Instant::now() + Duration::from_millis(millis)
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_change_is_notified_once_it_has_come() {
        let pending = PendingWakeups::default();
        let start = Instant::now();
        pending.add(&MARKER, after(20));
        pending.add(&MARKER, after(10));
        pending.add(&Bytes::from_static(b"other"), after(30));
        assert_eq!(pending.due().await, [MARKER]);
        assert_eq!(start.elapsed(), Duration::from_millis(10));
        assert_eq!(pending.due().await, [Bytes::from_static(b"other")]);
        assert_eq!(start.elapsed(), Duration::from_millis(30));
        let never = timeout(Duration::from_secs(3600), pending.due());
        assert!(never.await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn another_waiter_is_notified_before_the_change_if_the_first_does_not_wait_again_soon() {
        let pending = PendingWakeups::default();
        let start = Instant::now();
        pending.add_until(&MARKER, after(1000), after(10));
        pending.take_over(&MARKER, after(1000));
        pending.add_until(&MARKER, after(1000), after(20));
        assert_eq!(pending.due().await, [MARKER]);
        assert_eq!(start.elapsed(), Duration::from_millis(20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_knows_of_the_change_takes_it_over() {
        let pending = PendingWakeups::default();
        let change = after(10);
        pending.add(&MARKER, change);
        // This caller knows only of a later change.
        pending.take_over(&MARKER, after(20));
        assert_eq!(pending.lock().len(), 1);
        pending.take_over(&MARKER, change);
        assert_eq!(pending.lock().len(), 0);
    }
}
