//! The waiting callers of this process, and the markers at which they wait.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use queue_core::Error;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

/// The board looks for lines of markers at which nobody waits any more when it has this many lines.
const SWEEP: usize = 1024;

/// The cause of a wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wake {
    /// A change, which the waiter passes on if it does not use it.
    Told,
    /// The board may have missed changes.
    Look,
    /// A message that is leased to the waiter, and goes back if it does not use it.
    HandedOver(Bytes),
}

/// Takes back what was handed over to somebody who is gone.
pub(crate) trait Returns: Debug + Send + Sync {
    fn give_back(&self, handed: Bytes);
}

/// The terms of the lease by which a waiter takes a message that is handed over.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) text: Arc<str>,
    pub(super) returns: Weak<dyn Returns>,
}

/// A message that was leased to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandedOver {
    /// The registration that it was leased by, and how old that was then, at least.
    pub(super) serial: u64,
    pub(super) age: Duration,
    pub(super) lease: Bytes,
}

/// A request to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// So many wait at this marker: register the process, with these terms behind its channel; and with
    /// those that it was registered with before, if they were others.
    Join {
        marker: Bytes,
        waiting: usize,
        terms: String,
        before: Option<String>,
    },
    /// Nobody here can use so many changes: tell other processes.
    PassOn { marker: Bytes, changes: usize },
}

/// The lines of waiters at each marker, in the order of coming, and the requests to the server.
#[derive(Debug)]
pub(super) struct Board {
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<State>,
    changed: Notify,
    /// How long the board trusts a registration.
    trusted: Duration,
    first_serial: u64,
}

#[derive(Debug, Default)]
struct State {
    // In order, so that the board wakes all in the same order each time.
    lines: BTreeMap<Bytes, Line>,
    /// The markers that need a registration, each once, in the order of coming.
    to_join: VecDeque<Bytes>,
    /// Changes that nobody here can use.
    unclaimed: BTreeMap<Bytes, usize>,
    /// Who takes back what was handed over at these markers.
    returns: BTreeMap<Bytes, Weak<dyn Returns>>,
    next_place: u64,
    next_serial: u64,
    sweep_at: usize,
    trouble: Option<(Bytes, Arc<Error>)>,
}

/// The callers that wait at one marker.
#[derive(Debug, Default)]
struct Line {
    waiting: BTreeMap<u64, Waiting>,
    registration: Registration,
    /// How the process registered last.
    registered: Option<Registered>,
}

#[derive(Debug)]
struct Waiting {
    tell: oneshot::Sender<Wake>,
    /// The terms by which it takes a message, if it does.
    terms: Option<Arc<str>>,
    since: Instant,
}

/// A registration's own number and terms, and when it was sent.
#[derive(Debug)]
struct Registered {
    serial: u64,
    terms: Option<Arc<str>>,
    at: Instant,
}

impl Registered {
    /// What stands behind the process's channel.
    fn text(&self) -> String {
        let text = |terms: &Arc<str>| format!(" {} {terms}", self.serial);
        self.terms.as_ref().map_or_else(String::new, text)
    }
}

/// What the board knows of this process's registration at a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Registration {
    #[default]
    None,
    /// It is in `to_join`.
    Wanted,
    /// The board is asking the server. If the server has `told` of a change since, the registration
    /// may have ended again.
    Asked { told: bool },
    /// The server has it, and the board trusts it until then.
    Until(Instant),
}

/// A place in the line at a marker. Dropping it leaves the line; if it was told of a change that it
/// did not notice, it passes the change on, and what was handed over to it goes back.
#[derive(Debug)]
pub(super) struct Place {
    board: Arc<Board>,
    marker: Bytes,
    number: u64,
    wake: oneshot::Receiver<Wake>,
    terms: Option<Terms>,
}

impl Board {
    /// Trusts a registration for so long, and numbers its own from this on.
    pub(super) fn new(trusted: Duration, first_serial: u64) -> Self {
        let state = State {
            next_serial: first_serial,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            changed: Notify::new(),
            trusted,
            first_serial,
        }
    }

    /// Joins the line at a marker, with the terms by which the caller takes a message, if it does.
    pub(super) fn join(self: &Arc<Self>, marker: &Bytes, terms: Option<Terms>) -> Place {
        let (tell, wake) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next_place;
        state.next_place += 1;
        state.sweep();
        if let Some(terms) = &terms {
            let returns = terms.returns.clone();
            state.returns.insert(marker.clone(), returns);
        }
        let line = state.lines.entry(marker.clone()).or_default();
        let waiting = Waiting {
            tell,
            terms: terms.as_ref().map(|terms| Arc::clone(&terms.text)),
            since: Instant::now(),
        };
        line.waiting.insert(number, waiting);
        if let Some(changes) = state.unclaimed.remove(marker) {
            state.hand(marker, changes);
        }
        state.want(marker);
        drop(state);
        self.changed.notify_one();
        Place {
            board: Arc::clone(self),
            marker: marker.clone(),
            number,
            wake,
            terms,
        }
    }

    /// Takes a message that the server handed over, which ended the registration that it names. Whoever
    /// waited for it when it was leased has it, so that no lease is older than the call that it answers. What
    /// another board registered for, on the same channel, is not this one's to give back.
    pub(super) fn hand_over(&self, marker: &Bytes, handed: HandedOver) {
        let mut state = self.lock();
        if !(self.first_serial..state.next_serial).contains(&handed.serial) {
            return;
        }
        let waiter = state.who_takes(marker, &handed);
        let unused = match waiter {
            Some(waiter) => waiter.tell.send(Wake::HandedOver(handed.lease)).err(),
            None => Some(Wake::HandedOver(handed.lease)),
        };
        state.want(marker);
        let returns = state.returns.get(marker).and_then(Weak::upgrade);
        drop(state);
        self.changed.notify_one();
        if let (Some(Wake::HandedOver(lease)), Some(returns)) = (unused, returns) {
            returns.give_back(lease);
        }
    }

    /// Takes the server's message: so many changes, which ended the process's registration.
    pub(super) fn tell(&self, marker: &Bytes, changes: usize) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.hand(marker, changes);
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Wakes everybody at a marker to look, since its queue was removed. There is nothing to pass on.
    pub(super) fn gone(&self, marker: &Bytes) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.have_all_look(marker);
    }

    /// Takes the server's answer to a registration that another node has the queue, or will soon: who waits
    /// there looks, and finds the other. Whoever comes here again is registered anew.
    pub(super) fn moved(&self, marker: &Bytes) {
        let mut state = self.lock();
        if let Some(line) = state.lines.get_mut(marker) {
            line.registration = Registration::None;
        }
        state.have_all_look(marker);
    }

    /// Passes on one change that a waiter here was told of and does not use.
    pub(super) fn give_up(&self, marker: &Bytes) {
        self.lock().hand(marker, 1);
        self.changed.notify_one();
    }

    /// Takes the server's answer to a registration: the number of changes that it had told nobody
    /// of. The marker's trouble before that is over.
    pub(super) fn joined(&self, marker: &Bytes, asked_for: usize, changes: usize) {
        let mut state = self.lock();
        state.trouble.take_if(|(minded, _)| minded == marker);
        if let Some(line) = state.lines.get_mut(marker) {
            let sure = line.registration == Registration::Asked { told: false };
            line.registration = if sure && changes < asked_for {
                Registration::Until(Instant::now() + self.trusted)
            } else {
                Registration::None
            };
        }
        // A waiter that looks and leaves something behind tells others, so telling one here is
        // enough for all changes beyond the waiters here.
        let here = state.waiting_at(marker).max(1);
        state.hand(marker, changes.min(here));
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Takes the server's refusal to register. The marker's waiters look by a timer until the next
    /// try.
    pub(super) fn refused(&self, marker: &Bytes, reason: Error) {
        let mut state = self.lock();
        if let Some(line) = state.lines.get_mut(marker) {
            line.registration = Registration::Until(Instant::now() + self.trusted / 4);
        }
        state.trouble = Some((marker.clone(), Arc::new(reason)));
    }

    /// Puts requests back that the server has not answered.
    pub(super) fn unanswered(&self, orders: Vec<Order>) {
        let mut state = self.lock();
        for order in orders {
            match order {
                Order::Join { marker, .. } => {
                    state.forget(&marker);
                    state.want(&marker);
                }
                Order::PassOn { marker, changes } => {
                    *state.unclaimed.entry(marker).or_default() += changes;
                }
            }
        }
    }

    /// Forgets a registration that the server has lost.
    pub(super) fn forget(&self, marker: &Bytes) {
        let mut state = self.lock();
        state.forget(marker);
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Wakes everybody to look, since changes and registrations may be lost.
    pub(super) fn wake_all(&self) {
        let mut state = self.lock();
        state.to_join.clear();
        for (_, mut line) in std::mem::take(&mut state.lines) {
            line.have_all_look();
        }
    }

    /// The requests to the server now, at most `most`.
    pub(super) fn orders(&self, most: usize) -> Vec<Order> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut orders = Vec::new();
        while orders.len() < most
            && let Some((marker, changes)) = state.unclaimed.pop_first()
        {
            orders.push(Order::PassOn { marker, changes });
        }
        while orders.len() < most
            && let Some(marker) = state.to_join.pop_front()
        {
            let Some(line) = state.lines.get_mut(&marker) else {
                continue;
            };
            let waiting = line.waiting.len();
            if waiting == 0 {
                state.lines.remove(&marker);
                continue;
            }
            line.registration = Registration::Asked { told: false };
            let registered = Registered {
                serial: state.next_serial,
                terms: line.first_terms().cloned(),
                at: Instant::now(),
            };
            state.next_serial += 1;
            let terms = registered.text();
            let before = line.registered.replace(registered);
            let before = before.map(|before| before.text());
            orders.push(Order::Join {
                marker,
                waiting,
                before: before.filter(|before| *before != terms),
                terms,
            });
        }
        orders
    }

    /// Waits until there may be a request to the server.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The reason why the server last refused to register, if it has not accepted that marker
    /// since.
    pub(super) fn trouble(&self) -> Option<Arc<Error>> {
        let state = self.lock();
        state.trouble.as_ref().map(|(_, reason)| Arc::clone(reason))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        step!();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn waiting_at(&self, marker: &Bytes) -> usize {
        self.lines.get(marker).map_or(0, |line| line.waiting.len())
    }

    /// Tells as many waiters as there are changes, the first in the line first. Changes beyond the
    /// waiters here stay unclaimed.
    fn hand(&mut self, marker: &Bytes, mut changes: usize) {
        let line = self.lines.get_mut(marker);
        let waiting = line.map(|line| &mut line.waiting);
        if let Some(waiting) = waiting {
            while changes > 0
                && let Some((_, waiter)) = waiting.pop_first()
            {
                // A waiter that is gone cannot use it.
                if waiter.tell.send(Wake::Told).is_ok() {
                    changes -= 1;
                }
            }
        }
        if changes > 0 {
            *self.unclaimed.entry(marker.clone()).or_default() += changes;
        }
    }

    /// The first in the line that takes what was handed over: its terms are those of the registration, and
    /// it has waited since before the lease.
    fn who_takes(&mut self, marker: &Bytes, handed: &HandedOver) -> Option<Waiting> {
        let line = self.lines.get_mut(marker)?;
        let registered = line.registered.as_ref();
        let registered = registered.filter(|registered| registered.serial == handed.serial)?;
        let leased = registered.at + handed.age;
        let takes = |waiting: &Waiting| {
            waiting.terms.is_some() && waiting.terms == registered.terms && waiting.since <= leased
        };
        let taker = line.waiting.iter().find(|(_, waiting)| takes(waiting));
        let number = taker.map(|(number, _)| *number);
        self.end_registration(marker);
        self.lines.get_mut(marker)?.waiting.remove(&number?)
    }

    /// Wakes everybody at a marker to look. There is nothing to pass on.
    fn have_all_look(&mut self, marker: &Bytes) {
        self.unclaimed.remove(marker);
        if let Some(line) = self.lines.get_mut(marker) {
            line.have_all_look();
        }
        self.want(marker);
    }

    /// Has the process registered if somebody waits and no registration is certain.
    fn want(&mut self, marker: &Bytes) {
        let Some(line) = self.lines.get_mut(marker) else {
            return;
        };
        let registered = match line.registration {
            Registration::None => false,
            Registration::Wanted | Registration::Asked { .. } => true,
            Registration::Until(end) => end > Instant::now() && line.is_registered_by_first(),
        };
        if line.waiting.is_empty() {
            if !registered {
                self.lines.remove(marker);
            }
        } else if !registered {
            line.registration = Registration::Wanted;
            self.to_join.push_back(marker.clone());
        }
    }

    /// Notes that the server has used up the process's registration.
    fn end_registration(&mut self, marker: &Bytes) {
        if let Some(line) = self.lines.get_mut(marker) {
            line.registration = match line.registration {
                Registration::Asked { .. } => Registration::Asked { told: true },
                Registration::Wanted => Registration::Wanted,
                Registration::None | Registration::Until(_) => Registration::None,
            };
        }
    }

    fn forget(&mut self, marker: &Bytes) {
        if let Some(line) = self.lines.get_mut(marker)
            && line.registration != Registration::Wanted
        {
            line.registration = Registration::None;
        }
    }

    /// Drops lines without waiters and with no live registration, and handles that are gone.
    fn sweep(&mut self) {
        let size = |state: &Self| state.lines.len().max(state.returns.len());
        if size(self) >= self.sweep_at.max(SWEEP) {
            let now = Instant::now();
            self.lines.retain(|_, line| {
                let over = matches!(line.registration, Registration::Until(end) if end <= now);
                !(over && line.waiting.is_empty())
            });
            self.returns.retain(|_, returns| returns.strong_count() > 0);
            self.sweep_at = 2 * size(self);
        }
    }
}

impl Line {
    fn have_all_look(&mut self) {
        for (_, waiter) in std::mem::take(&mut self.waiting) {
            // A waiter that is gone needs no wake-up.
            let _ = waiter.tell.send(Wake::Look);
        }
    }

    fn first_terms(&self) -> Option<&Arc<str>> {
        let (_, first) = self.waiting.first_key_value()?;
        first.terms.as_ref()
    }

    /// Whether the process is registered by the terms of who waits longest, if anybody waits.
    fn is_registered_by_first(&self) -> bool {
        let terms = self.registered.as_ref();
        let terms = terms.and_then(|registered| registered.terms.as_ref());
        self.waiting.is_empty() || terms == self.first_terms()
    }
}

impl Place {
    /// Waits to be woken.
    pub(super) async fn woken(&mut self) -> Wake {
        // An error means that the board is gone; looking again is right then, too.
        (&mut self.wake).await.unwrap_or(Wake::Look)
    }

    /// Leaves the line. Answers what was handed over until then.
    pub(super) fn leave(&mut self) -> Option<Bytes> {
        {
            let mut state = self.board.lock();
            if let Some(line) = state.lines.get_mut(&self.marker) {
                line.waiting.remove(&self.number);
                state.want(&self.marker);
            }
        }
        // Nobody can send from now on; a change that was sent before and not received is passed on.
        self.wake.close();
        match self.wake.try_recv() {
            Ok(Wake::Told) => {
                self.board.give_up(&self.marker);
                None
            }
            Ok(Wake::HandedOver(handed)) => Some(handed),
            Ok(Wake::Look) | Err(_) => None,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let handed = self.leave();
        let returns = self
            .terms
            .as_ref()
            .and_then(|terms| terms.returns.upgrade());
        if let (Some(handed), Some(returns)) = (handed, returns) {
            returns.give_back(handed);
        }
    }
}
