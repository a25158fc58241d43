//! Waiting without polling, and without a task.
//!
//! Whoever waits looks, and leaves its waker, under one hold of the queue's lock, so that nothing
//! that comes can be missed. If it finds nothing it sleeps until it is rung, or until the time at
//! which it looks by itself. One of those who wait is the *watcher*: that time is never later for it
//! than the next change that happens by itself, a due time or a deadline. So one event wakes one
//! sleeper, however many there are:
//!
//! - What arrives rings the one that has waited longest, not the watcher if there are others. It
//!   goes, in the same hold of the lock as the look that tells it. Nobody else is rung before that.
//!   Its lease rings the next one if it leaves something behind.
//! - If the next change comes sooner than the watcher knows, the watcher is woken to be told when.
//! - If the watcher leaves, by returning or by being dropped, another one takes its place; and if
//!   one leaves that was rung, the ring is passed on.
//!
//! Who was rung may never look, if nobody polls its future, and who was told may never act on it.
//! Nobody else waits for that longer than the *grace*: with each ring the watcher is told to look by
//! itself then. And each sleeper looks at the latest after the *fall-back*, since the watcher's own
//! future may be one that nobody polls.
//!
//! While nobody waits all this costs a call one comparison.

use std::{collections::BTreeMap, mem, task::Waker};

use queue_core::Timestamp;

use crate::state::Outlook;

/// For how long nobody else is rung, and how long the watcher leaves something to who was: less than
/// a wake-up may be late, so that nobody is told late if that one does nothing.
const GRACE: u64 = 10;
/// How long anybody sleeps without a look, in ms.
const FALL_BACK: u64 = 5_000;
/// Since it was rung.
const AT_ONCE: Timestamp = Timestamp::from_millis(0);

/// Who waits for one thing: kept under the queue's lock.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    /// In the order of coming.
    line: BTreeMap<Ticket, Sleeper>,
    watcher: Option<Ticket>,
    /// Who was rung last, and when, if it has not looked yet.
    rung: Option<(Ticket, Timestamp)>,
    last_ticket: u64,
}

#[derive(Debug)]
struct Sleeper {
    /// When it looks by itself.
    until: Timestamp,
    waker: Waker,
}

/// One who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// Whom to wake, once the lock is free; nor is a waker dropped before, since that may drop anything.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Wakers {
    rung: Option<Waker>,
    watcher: Option<Waker>,
    spent: Option<Waker>,
}

impl Wakers {
    pub(crate) fn wake(self) {
        for waker in [self.rung, self.watcher].into_iter().flatten() {
            step!();
            waker.wake();
        }
    }
}

impl Sleepers {
    /// One who came finds nothing, and stays.
    pub(crate) fn join(&mut self, now: Timestamp) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        let sleeper = Sleeper {
            until: now.plus_millis(FALL_BACK),
            waker: Waker::noop().clone(),
        };
        self.line.insert(ticket, sleeper);
        ticket
    }

    /// One who waits looks. Answers until when it sleeps, or `None` if it was told, and has left.
    pub(crate) fn look(
        &mut self,
        ticket: Ticket,
        waker: &Waker,
        outlook: Outlook,
        now: Timestamp,
    ) -> (Option<Timestamp>, Wakers) {
        let Some(sleeper) = self.line.get_mut(&ticket) else {
            return (None, Wakers::default());
        };
        let its_turn = sleeper.until <= now;
        #[cfg(feature = "planted")]
        if its_turn && outlook == Outlook::Now && planted!(ToldBeforeItLeaves) {
            sleeper.until = now.plus_millis(FALL_BACK);
            self.looked(ticket);
            return (None, Wakers::default());
        }
        if its_turn && outlook == Outlook::Now {
            return (None, self.leave(ticket, outlook, now, true));
        }
        let mut wakers = Wakers::default();
        if !sleeper.waker.will_wake(waker) {
            wakers.spent = Some(mem::replace(&mut sleeper.waker, waker.clone()));
        }
        if its_turn {
            sleeper.until = now.plus_millis(FALL_BACK);
        }
        let until = sleeper.until;
        self.looked(ticket);
        if self.is_watched(now) && self.watcher != Some(ticket) {
            return (Some(until), wakers);
        }
        self.watcher = Some(ticket);
        let until = next(outlook, now).map_or(until, |next| next.min(until));
        if let Some(sleeper) = self.line.get_mut(&ticket) {
            sleeper.until = until;
        }
        (Some(until), wakers)
    }

    /// One who waited leaves. `told` says that it leaves because it found what it waited for, and
    /// is going to act on it.
    pub(crate) fn leave(
        &mut self,
        ticket: Ticket,
        outlook: Outlook,
        now: Timestamp,
        told: bool,
    ) -> Wakers {
        let Some(left) = self.line.remove(&ticket) else {
            return Wakers::default();
        };
        self.looked(ticket);
        let mut wakers = self.ring(outlook, now, told);
        wakers.spent = Some(left.waker);
        wakers
    }

    /// Leaves though it may have been rung since it looked.
    #[cfg(feature = "planted")]
    pub(crate) fn leave_later(&mut self, ticket: Ticket) {
        self.line.remove(&ticket);
        self.watcher.take_if(|watcher| *watcher == ticket);
    }

    /// Whom to wake after something may have changed.
    #[inline]
    pub(crate) fn stir(
        &mut self,
        outlook: impl FnOnce() -> Outlook,
        now: Timestamp,
    ) -> Option<Wakers> {
        (!self.line.is_empty()).then(|| self.ring(outlook(), now, false))
    }

    /// `taken` says that somebody is going to act on what is there.
    fn ring(&mut self, outlook: Outlook, now: Timestamp, taken: bool) -> Wakers {
        let mut wakers = Wakers::default();
        if !self.is_watched(now) {
            self.watcher = self.first_asleep(now);
        }
        let expected = |rung: (Ticket, Timestamp)| now < rung.1.plus_millis(GRACE);
        if outlook == Outlook::Now && !taken && !self.rung.is_some_and(expected) {
            let first = self.first_asleep(now).or(self.watcher);
            if let Some(first) = first {
                self.rung = Some((first, now));
                wakers.rung = self.wake_by(first, AT_ONCE);
            }
        }
        if let (Some(watcher), Some(next)) = (self.watcher, next(outlook, now))
            && !(planted!(EarlierWakesNobody) && outlook != Outlook::Now)
        {
            wakers.watcher = self.wake_by(watcher, next);
        }
        wakers
    }

    /// Has it look by itself at this time at the latest.
    fn wake_by(&mut self, ticket: Ticket, time: Timestamp) -> Option<Waker> {
        let sleeper = self.line.get_mut(&ticket)?;
        if sleeper.until <= time {
            return None;
        }
        sleeper.until = time;
        Some(sleeper.waker.clone())
    }

    /// Who has waited longest of those who do not look anyway, but for the watcher.
    fn first_asleep(&self, now: Timestamp) -> Option<Ticket> {
        let asleep = |(ticket, sleeper): &(&Ticket, &Sleeper)| {
            sleeper.until > now && self.watcher != Some(**ticket)
        };
        self.line.iter().find(asleep).map(|(ticket, _)| *ticket)
    }

    /// Whether there is a watcher that looks in time.
    fn is_watched(&self, now: Timestamp) -> bool {
        let watcher = self.watcher.and_then(|ticket| self.line.get(&ticket));
        watcher.is_some_and(|watcher| now < watcher.until.plus_millis(GRACE))
    }

    fn looked(&mut self, ticket: Ticket) {
        self.rung.take_if(|rung| rung.0 == ticket);
    }
}

/// When the watcher has to look.
fn next(outlook: Outlook, now: Timestamp) -> Option<Timestamp> {
    match outlook {
        Outlook::Now => Some(now.plus_millis(GRACE)),
        Outlook::At(time) => Some(time),
        Outlook::Open => None,
    }
}
