//! This process's registration at a marker: does the server have one, and by which terms?

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::caller::{HandedOver, WaitingCaller};

/// The server counts whole milliseconds.
const MILLI: Duration = Duration::from_millis(1);

/// The process's registration, as far as the registry knows.
#[derive(Debug, Default)]
pub(super) struct Registration {
    state: State,
    /// The last registration that was requested.
    last: Option<Requested>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
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
struct Requested {
    serial: u64,
    terms: Option<Arc<str>>,
    at: Instant,
    next_ticket: u64,
    /// Whether the server has used up the registration.
    used: bool,
}

impl Requested {
    /// The text that follows the process's channel.
    fn text(&self) -> String {
        let text = |terms: &Arc<str>| format!(" {} {terms}", self.serial);
        self.terms.as_ref().map_or_else(String::new, text)
    }
}

impl Registration {
    /// Whether the process is or will be registered, by the terms of the longest waiting caller, if any caller waits.
    pub(super) fn serves(&self, first: Option<&WaitingCaller>) -> bool {
        match self.state {
            State::None => false,
            State::Wanted | State::Asked { .. } => true,
            State::Until(end) => {
                let terms = self.last.as_ref().and_then(|last| last.terms.as_ref());
                let by_first = first.is_none_or(|first| first.terms.as_ref() == terms);
                end > Instant::now() && by_first
            }
        }
    }

    /// Notes that the process has to be registered.
    pub(super) const fn want(&mut self) {
        self.state = State::Wanted;
    }

    /// Begins a registration of this number, by the terms of the longest waiting caller. Returns these terms, and the
    /// previous ones if they were different, as they follow the process's channel.
    pub(super) fn request(
        &mut self,
        serial: u64,
        terms: Option<Arc<str>>,
        next_ticket: u64,
    ) -> (String, Option<String>) {
        self.state = State::Asked { notified: false };
        let requested = Requested {
            serial,
            terms,
            at: Instant::now(),
            next_ticket,
            used: false,
        };
        let terms = requested.text();
        let before = self.last.replace(requested).map(|before| before.text());
        let before = before.filter(|before| *before != terms);
        (terms, before)
    }

    /// Notes the server's reply. No registration is needed until `end` if the server has registered the process, or refuses
    /// to; unless it has notified the process of a change meanwhile.
    pub(super) fn replied(&mut self, settled: bool, end: Instant) {
        let sure = self.state == State::Asked { notified: false };
        self.state = match sure && settled {
            true => State::Until(end),
            false => State::None,
        };
    }

    /// Notes that the server has used up the registration.
    pub(super) fn end(&mut self) {
        self.state = match self.state {
            State::Asked { .. } => State::Asked { notified: true },
            State::Wanted => State::Wanted,
            State::None | State::Until(_) => {
                if let Some(last) = &mut self.last {
                    last.used = true;
                }
                State::None
            }
        };
    }

    /// Notes that the server may have lost the registration. One that is wanted is still wanted.
    pub(super) fn lose(&mut self) {
        if self.state != State::Wanted {
            self.state = State::None;
        }
    }

    /// Notes that the process is not known to be registered, and need not be. Forgets a registration that is used up. Any
    /// other one is remembered for as long as the server may have it, so that the next registration replaces it: a
    /// message that is handed over by a replaced registration has no recipient.
    pub(super) fn reset(&mut self) {
        self.state = State::None;
        self.last.take_if(|last| last.used);
    }

    /// Whether the message was leased by the last registration.
    pub(super) fn has_leased(&self, handed: &HandedOver) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.serial == handed.serial)
    }

    /// Whether a caller takes a message that the last registration has leased. The caller accepts the registration's
    /// terms, and has waited since before the lease.
    pub(super) fn hands_to(&self, caller: &WaitingCaller, ticket: u64, age: Duration) -> bool {
        self.last.as_ref().is_some_and(|last| {
            let since_before = ticket < last.next_ticket || caller.since + MILLI <= last.at + age;
            caller.terms.is_some() && caller.terms == last.terms && since_before
        })
    }

    /// Whether the server has no registration any more, because it keeps one for `patience`.
    pub(super) fn is_over(&self, patience: Duration) -> bool {
        let now = Instant::now();
        let ended = |last: &Requested| last.used || last.at + patience <= now;
        !self.serves(None) && self.last.as_ref().is_none_or(ended)
    }
}
