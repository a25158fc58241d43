//! Waiting without polling, and without a task.
//!
//! Whoever waits looks first, under the queue's lock, so that nothing that came before can be
//! missed. If it finds nothing it sleeps until it is rung. One of those who wait is the *watcher*:
//! it also sleeps no longer than to the next change that happens by itself, a due time or a
//! deadline. So one event wakes one sleeper, however many there are:
//!
//! - What arrives rings one of those who wait, not the watcher if there are others. Nobody else is
//!   rung before that one has looked. Its lease rings the next one if it leaves something behind.
//! - If the next change comes sooner than the watcher knows, the watcher is rung and looks again.
//! - If the watcher leaves, by returning or by being dropped, another one is rung to take its
//!   place; and if one leaves that may have been rung, the ring is passed on.
//!
//! While nobody waits all this costs a call one comparison.

use tokio::sync::Notify;

use crate::state::Outlook;
use queue_core::Timestamp;

/// Who waits for one thing: kept under the queue's lock.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    count: usize,
    watcher: Option<Watcher>,
    /// Somebody was rung and has not looked yet.
    rung: bool,
    last_ticket: u64,
}

#[derive(Debug)]
struct Watcher {
    ticket: u64,
    /// Until when it sleeps.
    until: Option<Timestamp>,
}

/// One who waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket(u64);

/// Whom to ring, once the lock is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Ring {
    Nobody,
    Sleeper,
    Watcher,
}

/// How one who looked in vain sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sleep {
    /// Until it is rung.
    Sleeper,
    /// Until it is rung, or until this time.
    Watcher(Option<Timestamp>),
}

impl Sleepers {
    pub(crate) fn join(&mut self) -> Ticket {
        self.count += 1;
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    /// One who waits looks: `None` if it may go.
    pub(crate) fn look(&mut self, ticket: Ticket, outlook: Outlook) -> Option<Sleep> {
        self.rung = false;
        let until = match outlook {
            Outlook::Now => return None,
            Outlook::At(time) => Some(time),
            Outlook::Open => None,
        };
        let watcher = self.watcher.get_or_insert(Watcher {
            ticket: ticket.0,
            until,
        });
        if watcher.ticket != ticket.0 {
            return Some(Sleep::Sleeper);
        }
        watcher.until = until;
        Some(Sleep::Watcher(until))
    }

    /// One who waited leaves. `told` says that it leaves because it found what it waited for, and
    /// is going to act on it.
    pub(crate) fn leave(&mut self, ticket: Ticket, outlook: Outlook, told: bool) -> Ring {
        self.count -= 1;
        let watcher = self.watcher.take_if(|watcher| watcher.ticket == ticket.0);
        if told && watcher.is_none() {
            return Ring::Nobody;
        }
        self.rung = false;
        self.ring(outlook)
    }

    /// Whom to ring after something may have changed.
    #[inline]
    pub(crate) fn stir(&mut self, outlook: impl FnOnce() -> Outlook) -> Ring {
        if self.count == 0 {
            return Ring::Nobody;
        }
        self.ring(outlook())
    }

    fn ring(&mut self, outlook: Outlook) -> Ring {
        if self.count == 0 {
            return Ring::Nobody;
        }
        match (outlook, &mut self.watcher) {
            (Outlook::Open, _) => Ring::Nobody,
            (Outlook::At(time), Some(watcher)) => {
                let knows = watcher.until.is_some_and(|until| until <= time);
                if knows || planted!(EarlierWakesNobody) {
                    return Ring::Nobody;
                }
                watcher.until = Some(time);
                Ring::Watcher
            }
            _ if self.rung => Ring::Nobody,
            (Outlook::Now, Some(_)) if self.count == 1 => {
                self.rung = true;
                Ring::Watcher
            }
            _ => {
                self.rung = true;
                Ring::Sleeper
            }
        }
    }
}

/// What those who wait for one thing listen to.
#[derive(Debug, Default)]
pub(crate) struct Bells {
    sleepers: Notify,
    watcher: Notify,
}

impl Bells {
    pub(crate) fn ring(&self, ring: Ring) {
        if planted!(ChecksThenListens) {
            // Only who listens already hears it.
            self.sleepers.notify_waiters();
            return self.watcher.notify_waiters();
        }
        match ring {
            Ring::Nobody => {}
            Ring::Sleeper => self.sleepers.notify_one(),
            Ring::Watcher => self.watcher.notify_one(),
        }
    }

    /// The bell that one who sleeps so listens to. One that was rung before it listens rings then.
    pub(crate) fn of(&self, sleep: Sleep) -> &Notify {
        match sleep {
            Sleep::Sleeper => &self.sleepers,
            Sleep::Watcher(_) => &self.watcher,
        }
    }
}
