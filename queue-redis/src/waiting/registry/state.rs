//! The marker queues, and the requests that they lead to.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use bytes::Bytes;
use queue_core::Error;
use tokio::time::Instant;

use super::marker_queue::{HandedOver, MarkerQueue, Registration, ReturnLease, WaitingCaller};

/// The number of marker queues from which to look for those without waiting callers.
pub(super) const SWEEP: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct RegistryState {
    // Ordered, so that the registry wakes callers in the same order each time.
    pub(super) lines: BTreeMap<Bytes, MarkerQueue>,
    /// The markers that need a registration, each once, in the order of arrival.
    pub(super) to_join: VecDeque<Bytes>,
    /// Changes that no caller here can use.
    pub(super) unclaimed: BTreeMap<Bytes, usize>,
    /// Takes back messages that were handed over at these markers.
    pub(super) returns: BTreeMap<Bytes, Weak<dyn ReturnLease>>,
    pub(super) next_place: u64,
    pub(super) next_serial: u64,
    sweep_at: usize,
    pub(super) trouble: Option<(Bytes, Arc<Error>)>,
}

impl RegistryState {
    /// Numbers registrations from this number on.
    pub(super) fn numbering_from(next_serial: u64) -> Self {
        Self {
            next_serial,
            ..Self::default()
        }
    }

    pub(super) fn waiting_at(&self, marker: &Bytes) -> usize {
        self.lines.get(marker).map_or(0, |line| line.waiting.len())
    }

    /// Notifies one waiting caller for each change. Changes beyond the callers here stay unclaimed.
    pub(super) fn hand(&mut self, marker: &Bytes, changes: usize) {
        let line = self.lines.get_mut(marker);
        let left = line.map_or(changes, |line| line.notify(changes));
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
        self.lines.get_mut(marker)?.take_recipient(handed)
    }

    /// Wakes all callers at a marker to poll. There is nothing to forward.
    pub(super) fn have_all_look(&mut self, marker: &Bytes) {
        self.unclaimed.remove(marker);
        if let Some(line) = self.lines.get_mut(marker) {
            line.have_all_look();
        }
        self.want(marker);
    }

    /// Requests a registration if a caller waits and no registration is certain.
    pub(super) fn want(&mut self, marker: &Bytes) {
        let Some(line) = self.lines.get_mut(marker) else {
            return;
        };
        if line.is_registered() {
            return;
        }
        if line.waiting.is_empty() {
            if !line.may_stand() {
                self.lines.remove(marker);
            }
        } else {
            line.registration = Registration::Wanted;
            self.to_join.push_back(marker.clone());
        }
    }

    /// Notes that the server has used up the process's registration.
    pub(super) fn end_registration(&mut self, marker: &Bytes) {
        if let Some(line) = self.lines.get_mut(marker) {
            line.end_registration();
        }
    }

    pub(super) fn forget(&mut self, marker: &Bytes) {
        if let Some(line) = self.lines.get_mut(marker)
            && line.registration != Registration::Wanted
        {
            line.registration = Registration::None;
        }
    }

    /// Drops handles that are gone. Drops marker queues without callers whose registration has ended on the server,
    /// which keeps it for `patience`.
    pub(super) fn sweep(&mut self, patience: Duration) {
        let size = |state: &Self| state.lines.len().max(state.returns.len());
        if size(self) >= self.sweep_at.max(SWEEP) {
            let now = Instant::now();
            self.lines.retain(|_, line| !line.is_over(now, patience));
            self.returns.retain(|_, returns| returns.strong_count() > 0);
            self.sweep_at = 2 * size(self);
        }
    }
}
