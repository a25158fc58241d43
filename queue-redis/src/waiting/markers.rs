//! The markers at one node: their waiting callers, and the requests and wake-ups that they lead to.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use queue_core::Error;
use tokio::time::Instant;

use super::{
    marker_queue::{HandedOver, MarkerQueue, Registration, ReleaseUnwanted, WaitingCaller},
    pending_wakeups::PendingWakeups,
};

/// The number of marker queues from which to look for those without waiting callers.
pub(super) const SWEEP: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Markers {
    // Ordered, so that the registry wakes callers in the same order each time.
    pub(super) queues: BTreeMap<Bytes, MarkerQueue>,
    /// The markers that need a registration, each once, in the order of arrival.
    pub(super) to_register: VecDeque<Bytes>,
    /// Changes that no caller here can use.
    pub(super) unclaimed: BTreeMap<Bytes, usize>,
    /// Changes that only this process knows of.
    pub(super) pending: PendingWakeups,
    /// The last queue at each marker that a message may be handed over to; it releases messages whose callers are gone.
    pub(super) releasing: BTreeMap<Bytes, Weak<dyn ReleaseUnwanted>>,
    pub(super) next_ticket: u64,
    pub(super) next_serial: u64,
    sweep_at: usize,
    pub(super) trouble: Option<(Bytes, Arc<Error>)>,
}

impl Markers {
    /// Numbers registrations from this number on.
    pub(super) fn numbering_from(next_serial: u64) -> Self {
        Self {
            next_serial,
            ..Self::default()
        }
    }

    pub(super) fn waiting_at(&self, marker: &Bytes) -> usize {
        self.queues
            .get(marker)
            .map_or(0, |queue| queue.waiting.len())
    }

    /// Notifies one waiting caller for each change. Changes beyond the callers here stay unclaimed.
    pub(super) fn notify(&mut self, marker: &Bytes, changes: usize) {
        let queue = self.queues.get_mut(marker);
        let left = queue.map_or(changes, |queue| queue.notify(changes));
        if left > 0 {
            *self.unclaimed.entry(marker.clone()).or_default() += left;
        }
    }

    /// Removes and returns the caller that takes the handed-over message.
    pub(super) fn take_recipient(
        &mut self,
        marker: &Bytes,
        handed: &HandedOver,
    ) -> Option<WaitingCaller> {
        self.queues.get_mut(marker)?.take_recipient(handed)
    }

    /// Wakes all callers at a marker to poll. There is nothing to forward.
    pub(super) fn wake_all(&mut self, marker: &Bytes) {
        self.unclaimed.remove(marker);
        if let Some(queue) = self.queues.get_mut(marker) {
            queue.wake_all();
        }
        self.register_if_needed(marker);
    }

    /// Requests a registration if a caller waits and no registration is certain.
    pub(super) fn register_if_needed(&mut self, marker: &Bytes) {
        let Some(queue) = self.queues.get_mut(marker) else {
            return;
        };
        if queue.is_registered() {
            return;
        }
        if queue.waiting.is_empty() {
            if !queue.may_be_registered() {
                self.queues.remove(marker);
            }
        } else {
            queue.registration = Registration::Wanted;
            self.to_register.push_back(marker.clone());
        }
    }

    /// Notes that the server has used up the process's registration.
    pub(super) fn end_registration(&mut self, marker: &Bytes) {
        if let Some(queue) = self.queues.get_mut(marker) {
            queue.end_registration();
        }
    }

    pub(super) fn forget(&mut self, marker: &Bytes) {
        if let Some(queue) = self.queues.get_mut(marker)
            && queue.registration != Registration::Wanted
        {
            queue.registration = Registration::None;
        }
    }

    /// Drops handles that are gone. Drops marker queues without callers whose registration has ended on the server,
    /// which keeps it for `patience`.
    pub(super) fn sweep(&mut self, patience: Duration) {
        let size = |state: &Self| state.queues.len().max(state.releasing.len());
        if size(self) >= self.sweep_at.max(SWEEP) {
            let now = Instant::now();
            self.queues.retain(|_, queue| !queue.is_over(now, patience));
            self.releasing.retain(|_, queue| queue.strong_count() > 0);
            self.sweep_at = 2 * size(self);
        }
    }
}
