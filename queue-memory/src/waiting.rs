//! Waiting without polling, and without a task.
//!
//! A caller polls, and leaves its waker, under one hold of the queue's lock, so that it misses no event. If
//! it finds nothing, it sleeps until an event wakes it, or until its timer does. One waiting caller is the
//! *watcher*. The watcher's timer is set to the next change without a call, a due time or a deadline. So one
//! event wakes one of any number of waiting callers:
//!
//! - An arrival wakes the caller that has waited longest, and the watcher only if there is no other. That
//!   caller leaves in the same hold of the lock as the poll that finds the arrival. Until then no arrival
//!   wakes another caller. The woken caller's lease wakes the next one if it leaves messages behind.
//! - If the next change comes sooner than the watcher's timer, the queue wakes the watcher to set its timer.
//! - If the watcher returns or is dropped, another waiting caller takes its place. If a woken caller
//!   leaves, it forwards the wake-up.
//!
//! A woken caller may never poll the queue, if its own future is not polled, and a caller that has found
//! something may never act. The others wait for it no longer than the *grace*: each wake-up also sets the
//! watcher's timer to the end of the grace. And each waiting caller polls after the *fall-back* at the latest,
//! because the watcher's own future may not be polled.
//!
//! While no caller waits, all this costs a call one comparison.

mod ends;
#[cfg(feature = "planted")]
mod planted;

use std::{collections::BTreeMap, mem, task::Waker};

use queue_core::Timestamp;

pub(crate) use self::ends::EndWaiters;
use crate::state::Availability;

/// The grace, in ms: the time that a woken caller has to poll before an arrival wakes another, and before
/// the watcher polls in its place. It is less than a wake-up may be late, so that the next wake-up is in time
/// if the first caller does nothing.
const GRACE: u64 = 10;
/// The fall-back, in ms: the longest sleep without a poll.
const FALL_BACK: u64 = 5_000;
/// The time at which a woken caller polls.
const AT_ONCE: Timestamp = Timestamp::from_millis(0);

/// The callers that wait for arrivals, or for room. The queue's lock protects them.
#[derive(Debug, Default)]
pub(crate) struct WaiterRegistry {
    /// In the order of joining.
    waiting: BTreeMap<TicketNumber, WaitingCaller>,
    watcher: Option<TicketNumber>,
    /// The last woken caller and the time of its wake-up, if it has not polled yet.
    woken: Option<(TicketNumber, Timestamp)>,
    last_number: u64,
}

#[derive(Debug)]
struct WaitingCaller {
    /// The time at which its timer wakes it.
    until: Timestamp,
    waker: Waker,
}

/// The number of a waiting caller, in the order of joining.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TicketNumber(u64);

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

impl WaiterRegistry {
    /// How many callers wait.
    pub(crate) fn count(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Adds a caller that found nothing.
    pub(crate) fn join(&mut self, now: Timestamp) -> TicketNumber {
        self.last_number += 1;
        let number = TicketNumber(self.last_number);
        let caller = WaitingCaller {
            until: now.plus_millis(FALL_BACK),
            waker: Waker::noop().clone(),
        };
        self.waiting.insert(number, caller);
        number
    }

    /// A waiting caller polls. Returns the time until which it sleeps, or `None` if it found something and has left.
    pub(crate) fn poll(
        &mut self,
        number: TicketNumber,
        waker: &Waker,
        availability: Availability,
        now: Timestamp,
    ) -> (Option<Timestamp>, Wakers) {
        let Some(caller) = self.waiting.get_mut(&number) else {
            return (None, Wakers::default());
        };
        let is_due = caller.until <= now;
        if is_due && availability == Availability::Now {
            planted!(ToldBeforeItLeaves => return self.find_and_stay(number, now));
            return (None, self.leave(number, availability, now, true));
        }
        let mut wakers = Wakers::default();
        if !caller.waker.will_wake(waker) {
            wakers.spent = Some(mem::replace(&mut caller.waker, waker.clone()));
        }
        if is_due {
            caller.until = now.plus_millis(FALL_BACK);
        }
        let until = caller.until;
        self.polled(number);
        if self.is_watched(now) && self.watcher != Some(number) {
            return (Some(until), wakers);
        }
        self.watcher = Some(number);
        let until = next(availability, now).map_or(until, |next| next.min(until));
        if let Some(caller) = self.waiting.get_mut(&number) {
            caller.until = until;
        }
        (Some(until), wakers)
    }

    /// A waiting caller leaves. `notified` says that it found something, and is going to act on it.
    pub(crate) fn leave(
        &mut self,
        number: TicketNumber,
        availability: Availability,
        now: Timestamp,
        notified: bool,
    ) -> Wakers {
        let Some(left) = self.waiting.remove(&number) else {
            return Wakers::default();
        };
        self.polled(number);
        let mut wakers = self.wake_next(availability, now, notified);
        wakers.spent = Some(left.waker);
        wakers
    }

    /// All waiting callers leave, because their queue was removed. Returns the wakers to wake.
    pub(crate) fn wake_all(&mut self) -> Vec<Waker> {
        (self.watcher, self.woken) = (None, None);
        let left = mem::take(&mut self.waiting).into_values();
        left.map(|caller| caller.waker).collect()
    }

    /// The waiting callers to wake after a change.
    #[inline]
    pub(crate) fn notify(
        &mut self,
        availability: impl FnOnce() -> Availability,
        now: Timestamp,
    ) -> Option<Wakers> {
        (!self.waiting.is_empty()).then(|| self.wake_next(availability(), now, false))
    }

    /// `taken` says that a caller has taken the arrival or the room, and is going to act.
    fn wake_next(&mut self, availability: Availability, now: Timestamp, taken: bool) -> Wakers {
        let mut wakers = Wakers::default();
        if !self.is_watched(now) {
            self.watcher = self.first_asleep(now);
        }
        let expected = |woken: (TicketNumber, Timestamp)| now < woken.1.plus_millis(GRACE);
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

    /// Sets a waiting caller's timer to this time at the latest.
    fn wake_by(&mut self, number: TicketNumber, time: Timestamp) -> Option<Waker> {
        let caller = self.waiting.get_mut(&number)?;
        if caller.until <= time {
            return None;
        }
        caller.until = time;
        Some(caller.waker.clone())
    }

    /// The waiting caller that has waited longest, except the watcher and waiting callers that are about to poll.
    fn first_asleep(&self, now: Timestamp) -> Option<TicketNumber> {
        let asleep = |(number, caller): &(&TicketNumber, &WaitingCaller)| {
            caller.until > now && self.watcher != Some(**number)
        };
        self.waiting.iter().find(asleep).map(|(number, _)| *number)
    }

    /// Whether there is a watcher, and it has not missed its time.
    fn is_watched(&self, now: Timestamp) -> bool {
        let watcher = self.watcher.and_then(|number| self.waiting.get(&number));
        watcher.is_some_and(|watcher| now < watcher.until.plus_millis(GRACE))
    }

    fn polled(&mut self, number: TicketNumber) {
        self.woken.take_if(|woken| woken.0 == number);
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
