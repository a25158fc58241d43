//! Waiting without polling, and without a task.
//!
//! A caller polls, and leaves its waker, under one hold of the queue's lock, so that it misses no event. If
//! it finds nothing, it becomes a *sleeper*: it sleeps until an event wakes it, or until its timer does. One
//! sleeper is the *watcher*: its timer is set to the next change without a call, a due time or a deadline. So
//! one event wakes one sleeper of any number:
//!
//! - An arrival wakes the sleeper that has waited longest, and the watcher only if there is no other. That
//!   sleeper leaves in the same hold of the lock as the poll that finds the arrival. Until then no arrival
//!   wakes another sleeper. The sleeper's lease wakes the next sleeper if it leaves messages behind.
//! - If the next change comes sooner than the watcher's timer, the queue wakes the watcher to set its timer.
//! - If the watcher returns or is dropped, another sleeper takes its place. If a woken sleeper
//!   leaves, it passes the wake-up on.
//!
//! A woken sleeper may never poll the queue, if its own future is not polled, and a sleeper that has found
//! something may never act. The others wait for it no longer than the *grace*: each wake-up also sets the
//! watcher's timer to the end of the grace. And each sleeper polls after the *fall-back* at the latest,
//! because the watcher's own future may not be polled.
//!
//! While no caller waits, all this costs a call one comparison.

#[cfg(feature = "planted")]
mod planted;

use std::{collections::BTreeMap, mem, task::Waker};

use queue_core::Timestamp;

use crate::state::Availability;

/// The grace, in ms: the time that a woken sleeper has to poll before an arrival wakes another, and before
/// the watcher polls in its place. It is less than a wake-up may be late, so that the next wake-up is in time
/// if the first sleeper does nothing.
const GRACE: u64 = 10;
/// The fall-back, in ms: the longest sleep without a poll.
const FALL_BACK: u64 = 5_000;
/// The time at which a woken sleeper polls.
const AT_ONCE: Timestamp = Timestamp::from_millis(0);

/// The callers that wait for arrivals, or for room. The queue's lock protects them.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    /// In the order of joining.
    line: BTreeMap<SleeperId, Sleeper>,
    watcher: Option<SleeperId>,
    /// The last woken sleeper and the time of its wake-up, if it has not polled yet.
    woken: Option<(SleeperId, Timestamp)>,
    last_id: u64,
}

#[derive(Debug)]
struct Sleeper {
    /// The time at which its timer wakes it.
    until: Timestamp,
    waker: Waker,
}

/// Names a sleeper, in the order of joining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SleeperId(u64);

/// Wakers to wake, or to drop, once the lock is free, because dropping a waker may run any code.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Wakers {
    woken: Option<Waker>,
    watcher: Option<Waker>,
    spent: Option<Waker>,
}

impl Wakers {
    pub(crate) fn wake(self) {
        for waker in [self.woken, self.watcher].into_iter().flatten() {
            step!();
            waker.wake();
        }
    }
}

impl Sleepers {
    /// Adds a caller that found nothing.
    pub(crate) fn join(&mut self, now: Timestamp) -> SleeperId {
        self.last_id += 1;
        let id = SleeperId(self.last_id);
        let sleeper = Sleeper {
            until: now.plus_millis(FALL_BACK),
            waker: Waker::noop().clone(),
        };
        self.line.insert(id, sleeper);
        id
    }

    /// A sleeper polls. Returns the time until which it sleeps, or `None` if it found something and has left.
    pub(crate) fn look(
        &mut self,
        id: SleeperId,
        waker: &Waker,
        availability: Availability,
        now: Timestamp,
    ) -> (Option<Timestamp>, Wakers) {
        let Some(sleeper) = self.line.get_mut(&id) else {
            return (None, Wakers::default());
        };
        let its_turn = sleeper.until <= now;
        if its_turn && availability == Availability::Now {
            planted!(ToldBeforeItLeaves => return self.tell(id, now));
            return (None, self.leave(id, availability, now, true));
        }
        let mut wakers = Wakers::default();
        if !sleeper.waker.will_wake(waker) {
            wakers.spent = Some(mem::replace(&mut sleeper.waker, waker.clone()));
        }
        if its_turn {
            sleeper.until = now.plus_millis(FALL_BACK);
        }
        let until = sleeper.until;
        self.looked(id);
        if self.is_watched(now) && self.watcher != Some(id) {
            return (Some(until), wakers);
        }
        self.watcher = Some(id);
        let until = next(availability, now).map_or(until, |next| next.min(until));
        if let Some(sleeper) = self.line.get_mut(&id) {
            sleeper.until = until;
        }
        (Some(until), wakers)
    }

    /// A sleeper leaves. `notified` says that it found something, and is going to act on it.
    pub(crate) fn leave(
        &mut self,
        id: SleeperId,
        availability: Availability,
        now: Timestamp,
        notified: bool,
    ) -> Wakers {
        let Some(left) = self.line.remove(&id) else {
            return Wakers::default();
        };
        self.looked(id);
        let mut wakers = self.wake_next(availability, now, notified);
        wakers.spent = Some(left.waker);
        wakers
    }

    /// All sleepers leave, because their queue was removed. Returns the wakers to wake.
    pub(crate) fn leave_all(&mut self) -> Vec<Waker> {
        (self.watcher, self.woken) = (None, None);
        let left = mem::take(&mut self.line).into_values();
        left.map(|sleeper| sleeper.waker).collect()
    }

    /// The sleepers to wake after a change.
    #[inline]
    pub(crate) fn after_change(
        &mut self,
        availability: impl FnOnce() -> Availability,
        now: Timestamp,
    ) -> Option<Wakers> {
        (!self.line.is_empty()).then(|| self.wake_next(availability(), now, false))
    }

    /// `taken` says that a caller has taken the arrival or the room, and is going to act.
    fn wake_next(&mut self, availability: Availability, now: Timestamp, taken: bool) -> Wakers {
        let mut wakers = Wakers::default();
        if !self.is_watched(now) {
            self.watcher = self.first_asleep(now);
        }
        let expected = |woken: (SleeperId, Timestamp)| now < woken.1.plus_millis(GRACE);
        if availability == Availability::Now && !taken && !self.woken.is_some_and(expected) {
            let first = self.first_asleep(now).or(self.watcher);
            if let Some(first) = first {
                self.woken = Some((first, now));
                wakers.woken = self.wake_by(first, AT_ONCE);
            }
        }
        let next = next(availability, now);
        planted!(EarlierWakesNobody => next = next.filter(|_| availability == Availability::Now));
        if let (Some(watcher), Some(next)) = (self.watcher, next) {
            wakers.watcher = self.wake_by(watcher, next);
        }
        wakers
    }

    /// Sets a sleeper's timer to this time at the latest.
    fn wake_by(&mut self, id: SleeperId, time: Timestamp) -> Option<Waker> {
        let sleeper = self.line.get_mut(&id)?;
        if sleeper.until <= time {
            return None;
        }
        sleeper.until = time;
        Some(sleeper.waker.clone())
    }

    /// The sleeper that has waited longest, except the watcher and sleepers that are about to poll.
    fn first_asleep(&self, now: Timestamp) -> Option<SleeperId> {
        let asleep = |(id, sleeper): &(&SleeperId, &Sleeper)| {
            sleeper.until > now && self.watcher != Some(**id)
        };
        self.line.iter().find(asleep).map(|(id, _)| *id)
    }

    /// Whether there is a watcher, and it has not missed its time.
    fn is_watched(&self, now: Timestamp) -> bool {
        let watcher = self.watcher.and_then(|id| self.line.get(&id));
        watcher.is_some_and(|watcher| now < watcher.until.plus_millis(GRACE))
    }

    fn looked(&mut self, id: SleeperId) {
        self.woken.take_if(|woken| woken.0 == id);
    }
}

/// The time at which the watcher must poll.
fn next(availability: Availability, now: Timestamp) -> Option<Timestamp> {
    match availability {
        Availability::Now => Some(now.plus_millis(GRACE)),
        Availability::At(time) => Some(time),
        Availability::OnlyByCall => None,
    }
}
