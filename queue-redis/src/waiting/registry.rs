//! The waiting callers at one node, behind one lock: the only place that knows who has to poll, and when.

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
    time::{Instant, sleep_until},
};

use super::{
    marker_queue::{HandedOver, HandoffTerms, Registration, ReleaseUnwanted, WaitingCaller, Wake},
    markers::Markers,
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

/// The marker queues with their waiting callers, in the order of arrival; the requests to the server; and the changes
/// for which this process has to wake a caller.
#[derive(Debug)]
pub(super) struct WaiterRegistry {
    // A std mutex: a call holds it briefly, and never across an await.
    state: Mutex<Markers>,
    /// Notified when there may be a request to the server.
    has_requests: Notify,
    /// Notified when a pending wake-up was added.
    has_pending: Notify,
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
    /// The queue to which a message goes back if the caller is gone, if the caller requested one.
    releasing: Option<Weak<dyn ReleaseUnwanted>>,
}

impl WaiterRegistry {
    /// A registry that trusts a registration for `trusted`, and numbers its own from `first_serial` on.
    pub(super) fn new(trusted: Duration, first_serial: u64) -> Self {
        Self {
            state: Mutex::new(Markers::numbering_from(first_serial)),
            has_requests: Notify::new(),
            has_pending: Notify::new(),
            trusted,
            first_serial,
        }
    }

    /// Joins a marker queue, with the terms under which the caller accepts a message, if it does, and the next change
    /// that it knows of.
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
        let mut state = self.lock();
        let number = state.next_ticket;
        state.next_ticket += 1;
        state.sweep(self.trusted * KEPT);
        if let Some(next_due) = next_due {
            state.pending.take_over(marker, next_due);
        }
        if let Some(queue) = &releasing {
            state.releasing.insert(marker.clone(), Weak::clone(queue));
        }
        let queue = state.queues.entry(marker.clone()).or_default();
        let waiting = WaitingCaller {
            wake,
            terms,
            since: Instant::now(),
        };
        queue.waiting.insert(number, waiting);
        if let Some(changes) = state.unclaimed.remove(marker) {
            state.notify(marker, changes);
        }
        state.register_if_needed(marker);
        drop(state);
        self.has_requests.notify_one();
        Ticket {
            registry: Arc::clone(self),
            marker: marker.clone(),
            number,
            wake: woken,
            releasing,
        }
    }

    /// Remembers a change that nobody else may know of. If no caller that knows of it joins by `notify_at`, a caller is
    /// woken to poll.
    pub(super) fn remember(&self, marker: &Bytes, change: Instant, notify_at: Instant) {
        self.lock().pending.add(marker, change, notify_at);
        self.has_pending.notify_one();
    }

    /// Waits until the remembered changes have to be notified, and wakes a caller for each. If it is dropped before
    /// that, it does nothing.
    pub(super) async fn wake_pending(&self) {
        loop {
            let next = self.lock().pending.next();
            let Some(next) = next else {
                self.has_pending.notified().await;
                continue;
            };
            tokio::select! {
                biased;
                () = self.has_pending.notified() => {}
                () = sleep_until(next) => {
                    let mut state = self.lock();
                    for marker in state.pending.take_due(next) {
                        state.notify(&marker, 1);
                    }
                    drop(state);
                    return self.has_requests.notify_one();
                }
            }
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
            Some(waiter) => waiter.wake.send(Wake::HandedOver(handed.lease)).err(),
            None => Some(Wake::HandedOver(handed.lease)),
        };
        state.register_if_needed(marker);
        let queue = state.releasing.get(marker).and_then(Weak::upgrade);
        drop(state);
        self.has_requests.notify_one();
        if let (Some(Wake::HandedOver(lease)), Some(queue)) = (unused, queue) {
            queue.release_unwanted(lease);
        }
    }

    /// Handles the server's notification of `changes` changes, which ended the process's registration.
    pub(super) fn notify(&self, marker: &Bytes, changes: usize) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.notify(marker, changes);
        state.register_if_needed(marker);
        drop(state);
        self.has_requests.notify_one();
    }

    /// Wakes all callers at a marker to poll, because the marker's queue was removed from the server. There is nothing
    /// to forward.
    pub(super) fn gone(&self, marker: &Bytes) {
        let mut state = self.lock();
        state.end_registration(marker);
        state.wake_all(marker);
    }

    /// Handles a reply that another node has the queue, or will soon: callers waiting there poll, and find the other
    /// node. A caller that comes here again is registered again.
    pub(super) fn moved(&self, marker: &Bytes) {
        let mut state = self.lock();
        if let Some(queue) = state.queues.get_mut(marker) {
            queue.registration = Registration::None;
        }
        state.wake_all(marker);
    }

    /// Forwards one change that a caller here was notified of and does not use.
    pub(super) fn forward(&self, marker: &Bytes) {
        self.lock().notify(marker, 1);
        self.has_requests.notify_one();
    }

    /// Handles the server's reply to a registration: the number of changes that no process was notified of. The
    /// marker's earlier error is over.
    pub(super) fn registered(&self, marker: &Bytes, asked_for: usize, changes: usize) {
        let mut state = self.lock();
        state.trouble.take_if(|(refused, _)| refused == marker);
        if let Some(queue) = state.queues.get_mut(marker) {
            let sure = queue.registration == Registration::Asked { notified: false };
            queue.registration = if sure && changes < asked_for {
                Registration::Until(Instant::now() + self.trusted)
            } else {
                Registration::None
            };
        }
        // A caller that polls and leaves messages behind notifies others, so notifying one here is enough for all
        // changes beyond the callers here.
        let here = state.waiting_at(marker).max(1);
        state.notify(marker, changes.min(here));
        state.register_if_needed(marker);
        drop(state);
        self.has_requests.notify_one();
    }

    /// Handles the server's refusal to register. The marker's callers poll by a timer until the next try.
    pub(super) fn refused(&self, marker: &Bytes, reason: Error) {
        let mut state = self.lock();
        if let Some(queue) = state.queues.get_mut(marker) {
            queue.registration = Registration::Until(Instant::now() + self.trusted / 4);
        }
        state.trouble = Some((marker.clone(), Arc::new(reason)));
    }

    /// Restores requests that the server has not answered.
    pub(super) fn unanswered(&self, requests: Vec<ServerRequest>) {
        let mut state = self.lock();
        for request in requests {
            match request {
                ServerRequest::Register { marker, .. } => {
                    state.forget(&marker);
                    state.register_if_needed(&marker);
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
        state.register_if_needed(marker);
        drop(state);
        self.has_requests.notify_one();
    }

    /// Wakes all callers to poll, because changes and registrations may be lost.
    pub(super) fn wake_all(&self) {
        let mut state = self.lock();
        state.to_register.clear();
        for queue in state.queues.values_mut() {
            queue.wake_all();
            queue.registration = Registration::None;
        }
        // Registrations that the server has kept name the channel that this process listens to again.
        state.queues.retain(|_, queue| queue.may_be_registered());
    }

    /// The requests to the server now, at most `most`.
    pub(super) fn requests(&self, most: usize) -> Vec<ServerRequest> {
        let mut state = self.lock();
        let state = &mut *state;
        let mut requests = Vec::new();
        while requests.len() < most
            && let Some((marker, changes)) = state.unclaimed.pop_first()
        {
            requests.push(ServerRequest::Forward { marker, changes });
        }
        while requests.len() < most
            && let Some(marker) = state.to_register.pop_front()
        {
            let Some(queue) = state.queues.get_mut(&marker) else {
                continue;
            };
            let waiting = queue.waiting.len();
            if waiting == 0 {
                queue.registration = Registration::None;
                state.register_if_needed(&marker);
                continue;
            }
            let (terms, before) = queue.register(state.next_serial, state.next_ticket);
            state.next_serial += 1;
            requests.push(ServerRequest::Register {
                marker,
                waiting,
                terms,
                before,
            });
        }
        requests
    }

    /// Waits until there may be a request to the server.
    pub(super) async fn has_requests(&self) {
        self.has_requests.notified().await;
    }

    /// The reason why the server last refused to register, if it has not accepted that marker since.
    pub(super) fn trouble(&self) -> Option<Arc<Error>> {
        let state = self.lock();
        state.trouble.as_ref().map(|(_, reason)| Arc::clone(reason))
    }

    fn lock(&self) -> MutexGuard<'_, Markers> {
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
            if let Some(queue) = state.queues.get_mut(&self.marker) {
                queue.waiting.remove(&self.number);
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
        // If the queue's handle is gone, too, the lease expires.
        if let (Some(handed), Some(queue)) = (self.leave(), &self.releasing)
            && let Some(queue) = queue.upgrade()
        {
            queue.release_unwanted(handed);
        }
    }
}
