//! The callers that wait at one marker, and the process's registration there.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use queue_core::Holder;
use tokio::{sync::oneshot, time::Instant};

const MILLI: Duration = Duration::from_millis(1);

/// The cause of a wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wake {
    /// A change, which the caller forwards if it does not use it.
    Notified,
    /// The registry may have missed changes.
    Poll,
    /// A message that is leased to the caller, and goes back if the caller does not use it.
    HandedOver(Bytes),
}

/// Releases messages that were handed over to callers that are gone.
pub(crate) trait ReleaseUnwanted: Debug + Send + Sync {
    /// Has the message released at once, by a task.
    fn release_unwanted(&self, handed: Bytes);
}

/// The lease terms under which a waiting caller accepts a handed-over message.
#[derive(Debug)]
pub(crate) struct HandoffTerms {
    /// The terms as `lua/lib/wake_up.lua` reads them.
    pub(super) text: Arc<str>,
    /// The caller's queue, to which the message goes back if the caller is gone.
    pub(super) queue: Weak<dyn ReleaseUnwanted>,
}

impl HandoffTerms {
    /// A lease for `lease_time` ms. If the caller is gone when the message comes, `queue` releases it.
    pub(crate) fn new(
        lease_time: u64,
        holder: Option<&Holder>,
        queue: Weak<dyn ReleaseUnwanted>,
    ) -> Self {
        let holder = holder.map_or("", Holder::as_str);
        let text = format!("{lease_time} {holder}").into();
        Self { text, queue }
    }
}

/// A message that was leased to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandedOver {
    /// The registration by which the message was leased, and the registration's age at that time. The age is in whole
    /// milliseconds of the server's clock, rounded up by at most one.
    pub(super) serial: u64,
    pub(super) age: Duration,
    pub(super) lease: Bytes,
}

/// The callers that wait at one marker, in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct MarkerQueue {
    pub(super) waiting: BTreeMap<u64, WaitingCaller>,
    pub(super) registration: Registration,
    /// The last registration of the process.
    registered: Option<Registered>,
}

#[derive(Debug)]
pub(super) struct WaitingCaller {
    pub(super) wake: oneshot::Sender<Wake>,
    /// The terms under which the caller accepts a message, if it does.
    pub(super) terms: Option<Arc<str>>,
    pub(super) since: Instant,
}

/// This process's registration at a marker, as far as the registry knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Registration {
    #[default]
    None,
    /// A registration has to be requested.
    Wanted,
    /// The registry has asked the server. If the server has notified it of a change since (`notified`), the registration
    /// may have ended again.
    Asked { notified: bool },
    /// The server has the registration, and the registry trusts it until then.
    Until(Instant),
}

/// A registration's serial number and terms, the time when it was sent, and the next ticket number at that time.
#[derive(Debug)]
struct Registered {
    serial: u64,
    terms: Option<Arc<str>>,
    at: Instant,
    next_ticket: u64,
    /// Whether the server has used up the registration.
    used: bool,
}

impl Registered {
    /// The text that follows the process's channel.
    fn text(&self) -> String {
        let text = |terms: &Arc<str>| format!(" {} {terms}", self.serial);
        self.terms.as_ref().map_or_else(String::new, text)
    }
}

impl MarkerQueue {
    /// Notifies one waiting caller for each change, the longest waiting first. Returns how many changes are left.
    pub(super) fn notify(&mut self, mut changes: usize) -> usize {
        while changes > 0
            && let Some((_, waiter)) = self.waiting.pop_first()
        {
            // A caller that is gone cannot use the change.
            if waiter.wake.send(Wake::Notified).is_ok() {
                changes -= 1;
            }
        }
        changes
    }

    /// Wakes all callers to poll. There is nothing to forward.
    pub(super) fn wake_all(&mut self) {
        for (_, waiter) in std::mem::take(&mut self.waiting) {
            // A caller that is gone needs no wake-up.
            let _ = waiter.wake.send(Wake::Poll);
        }
    }

    /// Removes and returns the first caller that takes the handed-over message. Its terms equal the terms of the
    /// registration, which is used up, and it has waited since before the lease.
    pub(super) fn take_recipient(&mut self, handed: &HandedOver) -> Option<WaitingCaller> {
        let registered = self.registered.as_ref();
        let registered = registered.filter(|registered| registered.serial == handed.serial)?;
        let leased = registered.at + handed.age;
        let takes = |ticket: u64, waiting: &WaitingCaller| {
            let since_before = ticket < registered.next_ticket || waiting.since + MILLI <= leased;
            waiting.terms.is_some() && waiting.terms == registered.terms && since_before
        };
        let mut waiting = self.waiting.iter();
        let taker = waiting.find(|(ticket, waiting)| takes(**ticket, waiting));
        let ticket = taker.map(|(ticket, _)| *ticket);
        self.end_registration();
        self.waiting.remove(&ticket?)
    }

    /// Begins a registration of this number, by the terms of the longest waiting caller. Returns these terms, and the
    /// previous ones if they were different, as they follow the process's channel.
    pub(super) fn register(&mut self, serial: u64, next_ticket: u64) -> (String, Option<String>) {
        self.registration = Registration::Asked { notified: false };
        let registered = Registered {
            serial,
            terms: self.first_terms().cloned(),
            at: Instant::now(),
            next_ticket,
            used: false,
        };
        let terms = registered.text();
        let before = self.registered.replace(registered);
        let before = before.map(|before| before.text());
        let before = before.filter(|before| *before != terms);
        (terms, before)
    }

    /// Whether the process is or will be registered, by the terms of the longest waiting caller, if any caller waits.
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
            Registration::Asked { .. } => Registration::Asked { notified: true },
            Registration::Wanted => Registration::Wanted,
            Registration::None | Registration::Until(_) => {
                if let Some(registered) = &mut self.registered {
                    registered.used = true;
                }
                Registration::None
            }
        };
    }

    /// Whether the server may still have a registration. The marker queue remembers it for that long, so that the next
    /// registration replaces it: a message that is handed over by a replaced registration has no recipient.
    pub(super) fn may_be_registered(&self) -> bool {
        let registered = self.registered.as_ref();
        registered.is_some_and(|registered| !registered.used)
    }

    /// Whether no caller waits, and the server has no registration any more. The server keeps a registration for
    /// `patience`.
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
