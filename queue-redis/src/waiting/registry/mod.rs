//! The waiting callers of this process, and the markers at which they wait.

mod marker_queue;
mod state;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use bytes::Bytes;
use queue_core::Error;
use tokio::{
    sync::{Notify, oneshot},
    time::Instant,
};

pub(crate) use self::marker_queue::ReturnLease;
pub(super) use self::marker_queue::{HandedOver, HandoffTerms, Wake};
use self::{
    marker_queue::{Registration, WaitingCaller},
    state::RegistryState,
};

/// The server keeps a registration this many times as long as the registry trusts it.
pub(super) const KEPT: u32 = 2;

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
}

/// The marker queues with their waiting callers, in the order of arrival, and the requests to the server.
#[derive(Debug)]
pub(super) struct WaiterRegistry {
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<RegistryState>,
    changed: Notify,
    /// How long the registry trusts a registration.
    trusted: Duration,
    first_serial: u64,
}

/// A place in a marker queue. Dropping it leaves the marker queue. A received change that the caller did not notice is
/// then forwarded, and a handed-over message goes back.
#[derive(Debug)]
pub(super) struct Ticket {
    registry: Arc<WaiterRegistry>,
    marker: Bytes,
    number: u64,
    wake: oneshot::Receiver<Wake>,
    terms: Option<HandoffTerms>,
}

impl WaiterRegistry {
    /// A registry that trusts a registration for `trusted`, and numbers its own from `first_serial` on.
    pub(super) fn new(trusted: Duration, first_serial: u64) -> Self {
        Self {
            state: Mutex::new(RegistryState::numbering_from(first_serial)),
            changed: Notify::new(),
            trusted,
            first_serial,
        }
    }

    /// Joins a marker queue, with the terms under which the caller accepts a message, if it does.
    pub(super) fn join(self: &Arc<Self>, marker: &Bytes, terms: Option<HandoffTerms>) -> Ticket {
        let (tell, wake) = oneshot::channel();
        let mut state = self.lock();
        let number = state.next_place;
        state.next_place += 1;
        state.sweep(self.trusted * KEPT);
        if let Some(terms) = &terms {
            let returns = terms.returns.clone();
            state.returns.insert(marker.clone(), returns);
        }
        let line = state.lines.entry(marker.clone()).or_default();
        let waiting = WaitingCaller {
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
        Ticket {
            registry: Arc::clone(self),
            marker: marker.clone(),
            number,
            wake,
            terms,
        }
    }

    /// Handles a message that the server handed over, which ended the registration that it names. It goes to a caller
    /// that already waited for it when it was leased, so that no lease is older than the call that returns it. If
    /// another registry on the same channel made the registration, the message is not for this one to give back.
    pub(super) fn hand_over(&self, marker: &Bytes, handed: HandedOver) {
        let mut state = self.lock();
        if !(self.first_serial..state.next_serial).contains(&handed.serial) {
            return;
        }
        let waiter = state.take_recipient(marker, &handed);
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

    /// Handles the server's notification of `changes` changes, which ended the process's registration.
    pub(super) fn notify(&self, marker: &Bytes, changes: usize) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.hand(marker, changes);
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Wakes all callers at a marker to poll, because the marker's queue was removed from the server. There is nothing
    /// to forward.
    pub(super) fn gone(&self, marker: &Bytes) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.have_all_look(marker);
    }

    /// Handles a reply that another node has the queue, or will soon: callers waiting there poll, and find the other
    /// node. A caller that comes here again is registered again.
    pub(super) fn moved(&self, marker: &Bytes) {
        let mut state = self.lock();
        if let Some(line) = state.lines.get_mut(marker) {
            line.registration = Registration::None;
        }
        state.have_all_look(marker);
    }

    /// Forwards one change that a caller here was notified of and does not use.
    pub(super) fn give_up(&self, marker: &Bytes) {
        self.lock().hand(marker, 1);
        self.changed.notify_one();
    }

    /// Handles the server's reply to a registration: the number of changes that no process was notified of. The
    /// marker's earlier error is over.
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
        // A caller that polls and leaves messages behind notifies others, so notifying one here is enough for all
        // changes beyond the callers here.
        let here = state.waiting_at(marker).max(1);
        state.hand(marker, changes.min(here));
        state.want(marker);
        drop(state);
        self.changed.notify_one();
    }

    /// Handles the server's refusal to register. The marker's callers poll by a timer until the next try.
    pub(super) fn refused(&self, marker: &Bytes, reason: Error) {
        let mut state = self.lock();
        if let Some(line) = state.lines.get_mut(marker) {
            line.registration = Registration::Until(Instant::now() + self.trusted / 4);
        }
        state.trouble = Some((marker.clone(), Arc::new(reason)));
    }

    /// Restores requests that the server has not answered.
    pub(super) fn unanswered(&self, orders: Vec<ServerRequest>) {
        let mut state = self.lock();
        for order in orders {
            match order {
                ServerRequest::Register { marker, .. } => {
                    state.forget(&marker);
                    state.want(&marker);
                }
                ServerRequest::Forward { marker, changes } => {
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

    /// Wakes all callers to poll, because changes and registrations may be lost.
    pub(super) fn wake_all(&self) {
        let mut state = self.lock();
        state.to_join.clear();
        for line in state.lines.values_mut() {
            line.have_all_look();
            line.registration = Registration::None;
        }
        // Registrations that the server has kept name the channel that this process listens to again.
        state.lines.retain(|_, line| line.may_stand());
    }

    /// The requests to the server now, at most `most`.
    pub(super) fn orders(&self, most: usize) -> Vec<ServerRequest> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut orders = Vec::new();
        while orders.len() < most
            && let Some((marker, changes)) = state.unclaimed.pop_first()
        {
            orders.push(ServerRequest::Forward { marker, changes });
        }
        while orders.len() < most
            && let Some(marker) = state.to_join.pop_front()
        {
            let Some(line) = state.lines.get_mut(&marker) else {
                continue;
            };
            let waiting = line.waiting.len();
            if waiting == 0 {
                line.registration = Registration::None;
                state.want(&marker);
                continue;
            }
            let (terms, before) = line.register(state.next_serial, state.next_place);
            state.next_serial += 1;
            orders.push(ServerRequest::Register {
                marker,
                waiting,
                terms,
                before,
            });
        }
        orders
    }

    /// Waits until there may be a request to the server.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The reason why the server last refused to register, if it has not accepted that marker since.
    pub(super) fn trouble(&self) -> Option<Arc<Error>> {
        let state = self.lock();
        state.trouble.as_ref().map(|(_, reason)| Arc::clone(reason))
    }

    fn lock(&self) -> MutexGuard<'_, RegistryState> {
        step!();
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Waits to be woken.
    pub(super) async fn woken(&mut self) -> Wake {
        // An error means that the registry is gone; polling again is right then, too.
        (&mut self.wake).await.unwrap_or(Wake::Poll)
    }

    /// Leaves the marker queue. Returns a message that was handed over before that.
    pub(super) fn leave(&mut self) -> Option<Bytes> {
        {
            let mut state = self.registry.lock();
            if let Some(line) = state.lines.get_mut(&self.marker) {
                line.waiting.remove(&self.number);
                state.want(&self.marker);
            }
        }
        // Nobody can send from now on; a change that was sent before and not received is forwarded.
        self.wake.close();
        match self.wake.try_recv() {
            Ok(Wake::Notified) => {
                self.registry.give_up(&self.marker);
                None
            }
            Ok(Wake::HandedOver(handed)) => Some(handed),
            Ok(Wake::Poll) | Err(_) => None,
        }
    }
}

impl Drop for Ticket {
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
