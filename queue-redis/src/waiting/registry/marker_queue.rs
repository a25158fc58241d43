//! The callers that wait at one marker, and the process's registration there.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::oneshot, time::Instant};

const MILLI: Duration = Duration::from_millis(1);

/// The cause of a wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::waiting) enum Wake {
    /// A change, which the waiter passes on if it does not use it.
    Notified,
    /// The board may have missed changes.
    Poll,
    /// A message that is leased to the waiter, and goes back if it does not use it.
    HandedOver(Bytes),
}

/// Takes back what was handed over to somebody who is gone.
pub(crate) trait ReturnLease: Debug + Send + Sync {
    fn give_back(&self, handed: Bytes);
}

/// The terms of the lease by which a waiter takes a message that is handed over.
#[derive(Debug, Clone)]
pub(in crate::waiting) struct HandoffTerms {
    pub(in crate::waiting) text: Arc<str>,
    pub(in crate::waiting) returns: Weak<dyn ReturnLease>,
}

/// A message that was leased to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::waiting) struct HandedOver {
    /// The registration that it was leased by, and how old that was then, by the server's clock in whole
    /// milliseconds: up to one more than it was.
    pub(in crate::waiting) serial: u64,
    pub(in crate::waiting) age: Duration,
    pub(in crate::waiting) lease: Bytes,
}

/// The callers that wait at one marker, by the order of coming.
#[derive(Debug, Default)]
pub(super) struct MarkerQueue {
    pub(super) waiting: BTreeMap<u64, WaitingCaller>,
    pub(super) registration: Registration,
    /// How the process registered last.
    registered: Option<Registered>,
}

#[derive(Debug)]
pub(super) struct WaitingCaller {
    pub(super) tell: oneshot::Sender<Wake>,
    /// The terms by which it takes a message, if it does.
    pub(super) terms: Option<Arc<str>>,
    pub(super) since: Instant,
}

/// What the board knows of this process's registration at a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Registration {
    #[default]
    None,
    /// It is to be asked for.
    Wanted,
    /// The board is asking the server. If the server has `told` of a change since, the registration
    /// may have ended again.
    Asked { told: bool },
    /// The server has it, and the board trusts it until then.
    Until(Instant),
}

/// A registration's own number and terms, and when it was sent: the time, and the next place then.
#[derive(Debug)]
struct Registered {
    serial: u64,
    terms: Option<Arc<str>>,
    at: Instant,
    next_place: u64,
    /// Whether the server has used it up.
    used: bool,
}

impl Registered {
    /// What stands behind the process's channel.
    fn text(&self) -> String {
        let text = |terms: &Arc<str>| format!(" {} {terms}", self.serial);
        self.terms.as_ref().map_or_else(String::new, text)
    }
}

impl MarkerQueue {
    /// Tells as many waiters as there are changes, the first first. Answers how many changes are left.
    pub(super) fn notify(&mut self, mut changes: usize) -> usize {
        while changes > 0
            && let Some((_, waiter)) = self.waiting.pop_first()
        {
            // A waiter that is gone cannot use it.
            if waiter.tell.send(Wake::Notified).is_ok() {
                changes -= 1;
            }
        }
        changes
    }

    /// Wakes everybody to look. There is nothing to pass on.
    pub(super) fn have_all_look(&mut self) {
        for (_, waiter) in std::mem::take(&mut self.waiting) {
            // A waiter that is gone needs no wake-up.
            let _ = waiter.tell.send(Wake::Poll);
        }
    }

    /// Takes the first waiter out that takes what was handed over: its terms are those of the registration,
    /// which is used up, and it has waited since before the lease.
    pub(super) fn take_recipient(&mut self, handed: &HandedOver) -> Option<WaitingCaller> {
        let registered = self.registered.as_ref();
        let registered = registered.filter(|registered| registered.serial == handed.serial)?;
        let leased = registered.at + handed.age;
        let takes = |place: u64, waiting: &WaitingCaller| {
            let since_before = place < registered.next_place || waiting.since + MILLI <= leased;
            waiting.terms.is_some() && waiting.terms == registered.terms && since_before
        };
        let mut waiting = self.waiting.iter();
        let taker = waiting.find(|(place, waiting)| takes(**place, waiting));
        let number = taker.map(|(number, _)| *number);
        self.end_registration();
        self.waiting.remove(&number?)
    }

    /// Begins a registration of this number, by the terms of who waits longest. Answers these, and those
    /// before, if they were others, as they stand behind the process's channel.
    pub(super) fn register(&mut self, serial: u64, next_place: u64) -> (String, Option<String>) {
        self.registration = Registration::Asked { told: false };
        let registered = Registered {
            serial,
            terms: self.first_terms().cloned(),
            at: Instant::now(),
            next_place,
            used: false,
        };
        let terms = registered.text();
        let before = self.registered.replace(registered);
        let before = before.map(|before| before.text());
        let before = before.filter(|before| *before != terms);
        (terms, before)
    }

    /// Whether the process is registered, or will be, by the terms of who waits longest, if anybody waits.
    pub(super) fn is_registered(&self) -> bool {
        match self.registration {
            Registration::None => false,
            Registration::Wanted | Registration::Asked { .. } => true,
            Registration::Until(end) => {
                let terms = self.registered.as_ref();
                let terms = terms.and_then(|registered| registered.terms.as_ref());
                let by_first = self.waiting.is_empty() || terms == self.first_terms();
                end > Instant::now() && by_first
            }
        }
    }

    /// Notes that the server has used up the process's registration.
    pub(super) fn end_registration(&mut self) {
        self.registration = match self.registration {
            Registration::Asked { .. } => Registration::Asked { told: true },
            Registration::Wanted => Registration::Wanted,
            Registration::None | Registration::Until(_) => {
                if let Some(registered) = &mut self.registered {
                    registered.used = true;
                }
                Registration::None
            }
        };
    }

    /// Whether the server may have a registration still. A line keeps it in mind for that long, so that the
    /// next one takes its place: a message that is handed over by a former one is for nobody.
    pub(super) fn may_stand(&self) -> bool {
        let registered = self.registered.as_ref();
        registered.is_some_and(|registered| !registered.used)
    }

    /// Whether nobody waits, and the server has no registration any more. It keeps one for `patience`.
    pub(super) fn is_over(&self, now: Instant, patience: Duration) -> bool {
        let trusted = match self.registration {
            Registration::None => false,
            Registration::Until(end) => end > now,
            Registration::Wanted | Registration::Asked { .. } => true,
        };
        let ended = |registered: &Registered| registered.used || registered.at + patience <= now;
        let stands = !self.registered.as_ref().is_none_or(ended);
        self.waiting.is_empty() && !trusted && !stands
    }

    fn first_terms(&self) -> Option<&Arc<str>> {
        let (_, first) = self.waiting.first_key_value()?;
        first.terms.as_ref()
    }
}
