//! The waiting callers at one node, behind one lock. Who gets a change, and who gets the message of a caller that is
//! gone?
//!
//! - A change wakes the caller that has waited longest at its marker. If no caller here waits, the server notifies
//!   another process.
//! - A handed-over message goes to a caller that waited for it when it was leased. If there is none, the message goes
//!   back: the node's task releases it, also if no handle to its queue is left.
//! - A caller that leaves ([`Ticket`]) forwards a change that it has not noticed, and gives back a message. If only it
//!   knows of a later change, another caller is notified.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use queue_core::Error;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

use super::{
    caller::{HandedOver, HandoffTerms, ReleaseUnwanted, Unwanted, WaitingCaller, Wake},
    registration::Registration,
};

/// The server keeps a registration this many times as long as the registry trusts it.
pub(super) const KEPT: u32 = 2;

/// The number of markers from which to look for those that nobody uses any more.
const SWEEP: usize = 1024;

/// A request to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerRequest {
    /// Register the process, for `waiting` callers at this marker, with these terms after its channel; and with the
    /// terms of its previous registration, if they were different.
    Register {
        marker: Bytes,
        waiting: usize,
        terms: String,
        before: Option<String>,
    },
    /// No caller here can use `changes` changes: notify other processes.
    Forward { marker: Bytes, changes: usize },
    /// No caller here can use this message: release it.
    Release(Unwanted),
}

/// The waiting callers by their markers, in the order of arrival; the requests to the server; and the changes for which
/// this process has to wake a caller.
#[derive(Debug)]
pub(super) struct WaiterRegistry {
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<State>,
    /// Notified when there may be a request to the server.
    pub(super) has_requests: Notify,
    /// Notified when a known change was added.
    pub(super) has_known: Notify,
    /// How long the registry trusts a registration.
    trusted: Duration,
    first_serial: u64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    // Ordered, so that the registry wakes callers in the same order each time.
    markers: BTreeMap<Bytes, Marker>,
    /// The markers that need a registration, each once, in the order of arrival.
    to_register: VecDeque<Bytes>,
    /// Changes that no caller here can use.
    unclaimed: BTreeMap<Bytes, usize>,
    /// Messages that no caller here can use.
    unwanted: Vec<Unwanted>,
    /// Changes that only this process knows of.
    pub(super) known: BTreeMap<Bytes, KnownChange>,
    next_ticket: u64,
    next_serial: u64,
    sweep_at: usize,
    /// The last error of a registration.
    trouble: Option<(Bytes, Arc<Error>)>,
}

/// The next change at a marker that only callers here know of. Other callers may sleep past it.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownChange {
    pub(super) change: Instant,
    /// When another caller is notified, because it needs to know until when to sleep; unless a caller that knows of the
    /// change waits by then. The caller mostly waits again at once.
    pub(super) notify_at: Instant,
}

/// The callers that wait at one marker.
#[derive(Debug, Default)]
struct Marker {
    /// By their tickets' numbers, so in the order of arrival.
    waiting: BTreeMap<u64, WaitingCaller>,
    registration: Registration,
    /// Releases messages whose callers are gone, if a caller has requested one.
    releasing: Option<Arc<dyn ReleaseUnwanted>>,
}

impl Marker {
    fn first(&self) -> Option<&WaitingCaller> {
        self.waiting.first_key_value().map(|(_, first)| first)
    }

    /// Wakes all callers to poll. There is nothing to forward.
    fn wake_all(&mut self) {
        for (_, caller) in std::mem::take(&mut self.waiting) {
            // A caller that is gone needs no wake-up.
            let _ = caller.wake.send(Wake::Poll);
        }
    }

    /// Removes and returns the first caller that takes the handed-over message. The registration that has leased it is
    /// used up.
    fn take_recipient(&mut self, handed: &HandedOver) -> Option<WaitingCaller> {
        if !self.registration.has_leased(handed) {
            return None;
        }
        let takes = |(ticket, caller): &(&u64, &WaitingCaller)| {
            self.registration.hands_to(caller, **ticket, handed.age)
        };
        let taker = self.waiting.iter().find(takes).map(|(ticket, _)| *ticket);
        self.registration.end();
        self.waiting.remove(&taker?)
    }

    /// Whether no caller waits, and the server has no registration any more.
    fn is_over(&self, patience: Duration) -> bool {
        self.waiting.is_empty() && self.registration.is_over(patience)
    }
}

impl State {
    /// Notifies one waiting caller for each change, the longest waiting first. Changes beyond the callers here stay
    /// unclaimed.
    pub(super) fn notify(&mut self, marker: &Bytes, mut changes: usize) {
        if let Some(here) = self.markers.get_mut(marker) {
            while changes > 0
                && let Some((_, caller)) = here.waiting.pop_first()
            {
                // A caller that is gone cannot use the change.
                if caller.wake.send(Wake::Notified).is_ok() {
                    changes -= 1;
                }
            }
        }
        if changes > 0 {
            *self.unclaimed.entry(marker.clone()).or_default() += changes;
        }
    }

    /// Changes what is known of a registration, if there may be one.
    fn registration(&mut self, marker: &Bytes, change: impl FnOnce(&mut Registration)) {
        if let Some(here) = self.markers.get_mut(marker) {
            change(&mut here.registration);
        }
    }

    /// Wakes all callers at a marker to poll. There is nothing to forward.
    fn wake_all(&mut self, marker: &Bytes) {
        self.unclaimed.remove(marker);
        if let Some(here) = self.markers.get_mut(marker) {
            here.wake_all();
        }
    }

    /// Requests a registration if a caller waits and no registration is certain.
    fn register_if_needed(&mut self, marker: &Bytes) {
        if let Some(here) = self.markers.get_mut(marker)
            && !here.registration.serves(here.first())
        {
            if here.waiting.is_empty() {
                here.registration.reset();
            } else {
                here.registration.want();
                self.to_register.push_back(marker.clone());
            }
        }
    }

    /// Drops markers that nobody uses any more. The server keeps a registration for `patience`.
    fn sweep(&mut self, patience: Duration) {
        if self.markers.len() >= self.sweep_at.max(SWEEP) {
            self.markers.retain(|_, here| !here.is_over(patience));
            self.sweep_at = 2 * self.markers.len();
        }
    }
}

impl WaiterRegistry {
    /// A registry that trusts a registration for `trusted`, and numbers its own from `first_serial` on.
    pub(super) fn new(trusted: Duration, first_serial: u64) -> Self {
        let state = State {
            next_serial: first_serial,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            has_requests: Notify::new(),
            has_known: Notify::new(),
            trusted,
            first_serial,
        }
    }

    /// Begins a wait at a marker, with the terms under which the caller accepts a message, if it does, and the next
    /// change that it knows of.
    pub(super) fn join(
        self: &Arc<Self>,
        marker: &Bytes,
        terms: Option<HandoffTerms>,
        next_due: Option<Instant>,
    ) -> Ticket {
        let (wake, woken) = oneshot::channel();
        let (terms, releasing) = match terms {
            Some(terms) => (Some(terms.text), Some(terms.queue)),
            None => (None, None),
        };
        let number = self.update(marker, |state| {
            let number = state.next_ticket;
            state.next_ticket += 1;
            state.sweep(self.trusted * KEPT);
            if let Some(next_due) = next_due {
                state.take_over(marker, next_due);
            }
            let here = state.markers.entry(marker.clone()).or_default();
            if let Some(queue) = &releasing {
                here.releasing = Some(Arc::clone(queue));
            }
            let caller = WaitingCaller {
                wake,
                terms,
                since: Instant::now(),
            };
            here.waiting.insert(number, caller);
            if let Some(changes) = state.unclaimed.remove(marker) {
                state.notify(marker, changes);
            }
            number
        });
        Ticket {
            registry: Arc::clone(self),
            marker: marker.clone(),
            number,
            wake: woken,
            releasing,
            next_due,
        }
    }

    /// Handles a message that the server handed over, which ended the registration that it names. It goes to a caller
    /// that already waited for it when it was leased, so that no lease is older than the call that returns it. If
    /// another registry on the same channel made the registration, the message is not for this one to give back.
    pub(super) fn hand_over(&self, marker: &Bytes, handed: HandedOver) {
        let own = self.first_serial..self.lock().next_serial;
        if !own.contains(&handed.serial) {
            return;
        }
        self.update(marker, |state| {
            let Some(here) = state.markers.get_mut(marker) else {
                return;
            };
            let unused = match here.take_recipient(&handed) {
                Some(caller) => caller.wake.send(Wake::HandedOver(handed.lease)).err(),
                None => Some(Wake::HandedOver(handed.lease)),
            };
            if let (Some(Wake::HandedOver(lease)), Some(queue)) = (unused, &here.releasing) {
                let queue = Arc::clone(queue);
                state.unwanted.push(Unwanted { queue, lease });
            }
        });
    }

    /// Has a message released whose caller is gone.
    fn give_back(&self, unwanted: Unwanted) {
        self.lock().unwanted.push(unwanted);
        self.has_requests.notify_one();
    }

    /// Handles the server's notification of `changes` changes, which ended the process's registration.
    pub(super) fn notify(&self, marker: &Bytes, changes: usize) {
        self.update(marker, |state| {
            state.registration(marker, Registration::end);
            state.notify(marker, changes);
        });
    }

    /// Wakes all callers at a marker to poll, because the marker's queue was removed from the server. There is nothing
    /// to forward.
    pub(super) fn gone(&self, marker: &Bytes) {
        self.update(marker, |state| {
            state.registration(marker, Registration::end);
            state.wake_all(marker);
        });
    }

    /// Handles a reply that another node has the queue, or will soon: callers waiting there poll, and find the other
    /// node. A caller that comes here again is registered again.
    pub(super) fn moved(&self, marker: &Bytes) {
        self.update(marker, |state| {
            state.registration(marker, Registration::lose);
            state.wake_all(marker);
        });
    }

    /// Forwards one change that a caller here was notified of and does not use.
    pub(super) fn forward(&self, marker: &Bytes) {
        self.lock().notify(marker, 1);
        self.has_requests.notify_one();
    }

    /// Handles the server's reply to a registration: the number of changes that no process was notified of. The
    /// marker's earlier error is over.
    pub(super) fn registered(&self, marker: &Bytes, asked_for: usize, changes: usize) {
        self.update(marker, |state| {
            state.trouble.take_if(|(refused, _)| refused == marker);
            let end = Instant::now() + self.trusted;
            state.registration(marker, |it| it.replied(changes < asked_for, end));
            // A caller that polls and leaves messages behind notifies others, so notifying one here is enough for all
            // changes beyond the callers here.
            let here = state.markers.get(marker);
            let here = here.map_or(0, |here| here.waiting.len()).max(1);
            state.notify(marker, changes.min(here));
        });
    }

    /// Handles the server's refusal to register. The marker's callers poll by a timer until the next try.
    pub(super) fn refused(&self, marker: &Bytes, reason: Error) {
        let mut state = self.lock();
        let end = Instant::now() + self.trusted / 4;
        state.registration(marker, |it| it.replied(true, end));
        state.trouble = Some((marker.clone(), Arc::new(reason)));
    }

    /// Restores requests that the server has not answered.
    pub(super) fn unanswered(&self, requests: Vec<ServerRequest>) {
        let mut state = self.lock();
        for request in requests {
            match request {
                ServerRequest::Register { marker, .. } => {
                    state.registration(&marker, Registration::lose);
                    state.register_if_needed(&marker);
                }
                ServerRequest::Forward { marker, changes } => {
                    *state.unclaimed.entry(marker).or_default() += changes;
                }
                // A message that was released comes to no harm: its lease is lost (L4).
                ServerRequest::Release(unwanted) => state.unwanted.push(unwanted),
            }
        }
    }

    /// Forgets a registration that the server has lost.
    pub(super) fn forget(&self, marker: &Bytes) {
        self.update(marker, |state| {
            state.registration(marker, Registration::lose);
        });
    }

    /// Wakes all callers to poll, because changes and registrations may be lost. Registrations that the server has kept
    /// name the channel that this process listens to again, so they are remembered.
    pub(super) fn wake_all(&self) {
        let mut state = self.lock();
        state.to_register.clear();
        for here in state.markers.values_mut() {
            here.wake_all();
            here.registration.reset();
        }
    }

    /// The requests to the server now, at most `most`.
    pub(super) fn requests(&self, most: usize) -> Vec<ServerRequest> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut requests = Vec::new();
        while requests.len() < most
            && let Some(unwanted) = state.unwanted.pop()
        {
            requests.push(ServerRequest::Release(unwanted));
        }
        while requests.len() < most
            && let Some((marker, changes)) = state.unclaimed.pop_first()
        {
            requests.push(ServerRequest::Forward { marker, changes });
        }
        while requests.len() < most
            && let Some(marker) = state.to_register.pop_front()
        {
            let Some(here) = state.markers.get_mut(&marker) else {
                continue;
            };
            let Some(first) = here.first() else {
                here.registration.reset();
                continue;
            };
            let terms = first.terms.clone();
            let (terms, before) =
                here.registration
                    .request(state.next_serial, terms, state.next_ticket);
            state.next_serial += 1;
            requests.push(ServerRequest::Register {
                waiting: here.waiting.len(),
                marker,
                terms,
                before,
            });
        }
        requests
    }

    /// The reason why the server last refused to register, if it has not accepted that marker since.
    pub(super) fn trouble(&self) -> Option<Arc<Error>> {
        let state = self.lock();
        state.trouble.as_ref().map(|(_, reason)| Arc::clone(reason))
    }

    /// Makes a change at a marker, and lets the node's task look for requests that it leads to.
    fn update<T>(&self, marker: &Bytes, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let changed = change(&mut state);
        state.register_if_needed(marker);
        drop(state);
        self.has_requests.notify_one();
        changed
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        step!();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller's place at a marker. Dropping it ends the wait. A received change that the caller did not notice is then
/// forwarded, a handed-over message goes back, and another caller learns of the change that the caller knows of.
#[derive(Debug)]
pub(super) struct Ticket {
    registry: Arc<WaiterRegistry>,
    marker: Bytes,
    number: u64,
    wake: oneshot::Receiver<Wake>,
    /// The queue to which a message goes back if the caller is gone, if the caller requested one.
    releasing: Option<Arc<dyn ReleaseUnwanted>>,
    /// The next change that the caller knows of, unless the caller polls now.
    next_due: Option<Instant>,
}

impl Ticket {
    /// Waits to be woken.
    pub(super) async fn woken(&mut self) -> Wake {
        // An error means that the registry is gone; polling again is right then, too.
        let wake = (&mut self.wake).await.unwrap_or(Wake::Poll);
        // A caller that is handed a message does not poll.
        if !matches!(wake, Wake::HandedOver(_)) {
            self.next_due = None;
        }
        wake
    }

    /// Ends the wait at its timeout. Returns a message that was handed over before that. Otherwise the caller polls if
    /// the change that it knows of has come. If it has not, the caller may be gone for good.
    pub(super) fn leave(&mut self) -> Option<Bytes> {
        let handed = self.end();
        if handed.is_none() {
            self.next_due.take_if(|due| *due <= Instant::now());
        }
        handed
    }

    fn end(&mut self) -> Option<Bytes> {
        {
            let mut state = self.registry.lock();
            if let Some(here) = state.markers.get_mut(&self.marker) {
                here.waiting.remove(&self.number);
                state.register_if_needed(&self.marker);
            }
        }
        // Nobody can send from now on; a change that was sent before and not received is forwarded.
        self.wake.close();
        match self.wake.try_recv() {
            Ok(Wake::Notified) => {
                self.registry.forward(&self.marker);
                None
            }
            Ok(Wake::HandedOver(handed)) => Some(handed),
            Ok(Wake::Poll) | Err(_) => None,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let (Some(lease), Some(queue)) = (self.end(), &self.releasing) {
            let queue = Arc::clone(queue);
            self.registry.give_back(Unwanted { queue, lease });
        }
        if let Some(change) = self.next_due {
            self.registry.no_longer_awaited(&self.marker, change);
        }
    }
}
