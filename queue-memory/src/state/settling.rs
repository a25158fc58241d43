//! Ending leases, and moving their deadlines.

use std::time::Duration;

use bytes::Bytes;
use queue_core::{
    DeathReason, Disposition, Extended, Extension, Holder, Leased, Receipt, Settled, Settlement,
    Timestamp, limits, millis_ceil,
};

use super::{
    backlog::Backlog,
    entry::{EntryPlace, Slot},
    kind::Kind,
    leasing::LeasingState,
};

impl<K: Kind> LeasingState<K> {
    pub(crate) fn settle(&mut self, now: Timestamp, settlements: &[Settlement]) -> Vec<Settled> {
        let each = settlements.iter();
        planted!(AckAfterExpiry => return each.map(|one| self.settle_one(one, now)).collect());
        let now = self.begin(now);
        each.map(|settlement| self.settle_one(settlement, now))
            .collect()
    }

    /// [`settle`](Self::settle), then [`lease`](Self::lease): each reclaims.
    pub(crate) fn settle_and_lease(
        &mut self,
        now: Timestamp,
        settlements: &[Settlement],
        max: usize,
        lease_time: u64,
        holder: Option<Holder>,
    ) -> (Vec<Settled>, Leased) {
        let settled = match settlements {
            [] => Vec::new(),
            _ => self.settle(now, settlements),
        };
        (settled, self.lease(now, max, lease_time, holder))
    }

    fn settle_one(&mut self, settlement: &Settlement, now: Timestamp) -> Settled {
        let id = settlement.receipt.id;
        planted!(ResultWithoutItsAck =>
        if let Disposition::AckWith(kept) = &settlement.disposition {
            self.results.keep(id, kept, now);
        });
        planted!(StateIgnoresTheToken => self.store_unchecked(settlement));
        let Some((slot, deadline)) = self.live(settlement.receipt, now) else {
            return Settled::LeaseLost;
        };
        planted!(NackKeepsItsLease => if Self::comes_back(settlement) { return Settled::Done });
        self.leases.remove(deadline, id);
        self.forget_holder(slot);
        if let Some(state) = &settlement.state {
            self.entries[slot].store(Bytes::clone(state));
        }
        match &settlement.disposition {
            Disposition::Ack => {
                self.forget(slot);
                self.counters.acked += 1;
                Settled::Done
            }
            Disposition::AckWith(kept) => {
                self.results.keep(id, kept, now);
                self.forget(slot);
                self.counters.acked += 1;
                Settled::Done
            }
            retry @ Disposition::Retry { delay, .. } => {
                self.retry_one(slot, retry.failure(), *delay, now)
            }
            Disposition::Defer { delay } => {
                let due = now.plus_millis(millis_ceil(*delay));
                self.entries[slot].attempts -= 1;
                self.delay(slot, due);
                self.came_back(slot);
                self.counters.deferred += 1;
                Settled::Done
            }
            Disposition::Release => {
                self.entries[slot].attempts -= 1;
                planted!(ReleaseCharges => self.entries[slot].attempts += 1);
                self.backlog.rejoin(&mut self.entries, slot, now);
                self.came_back(slot);
                self.counters.released += 1;
                Settled::Done
            }
            Disposition::Bury { reason } => {
                let reason = limits::cut_reason(reason).into();
                self.die(slot, DeathReason::Buried(reason), now);
                Settled::Dead
            }
        }
    }

    fn retry_one(
        &mut self,
        slot: Slot,
        failure: Option<&str>,
        delay: Duration,
        now: Timestamp,
    ) -> Settled {
        self.entries[slot].failed(failure);
        if self.is_spent(slot) {
            self.die(slot, DeathReason::Retried, now);
            return Settled::Dead;
        }
        planted!(RetryForgetsWhy => self.entries[slot].failed(None));
        let due = now.plus_millis(millis_ceil(delay));
        let arrival = due;
        planted!(RetryKeepsArrival => arrival = self.entries[slot].arrival);
        self.entries[slot].arrival = arrival;
        self.delay(slot, due);
        planted!(EndMovesWithRetry => self.live_anew(slot, now));
        self.came_back(slot);
        self.counters.retried += 1;
        Settled::Done
    }

    pub(crate) fn extend(
        &mut self,
        now: Timestamp,
        extensions: &[Extension],
        lease_time: u64,
    ) -> Vec<Extended> {
        let each = extensions.iter();
        planted!(ExtendRevivesTheExpired =>
            return each.map(|one| self.extend_one(one, now, lease_time)).collect());
        let now = self.begin(now);
        each.map(|extension| self.extend_one(extension, now, lease_time))
            .collect()
    }

    fn extend_one(&mut self, extension: &Extension, now: Timestamp, lease_time: u64) -> Extended {
        let receipt = extension.receipt;
        planted!(ProgressIgnoresTheToken => self.report(extension));
        let Some((slot, old)) = self.live(receipt, now) else {
            return Extended::LeaseLost;
        };
        self.report(extension);
        if let Some(state) = &extension.state {
            self.entries[slot].store(state.clone());
        }
        let deadline = now.plus_millis(lease_time);
        planted!(ExtendTakesTheLater => deadline = deadline.max(old));
        if let EntryPlace::Leased { deadline: end, .. } = &mut self.entries[slot].place {
            *end = deadline;
        }
        self.leases.remove(old, receipt.id);
        self.hold(slot, receipt.id, deadline);
        Extended::Extended
    }

    /// Stores the holder's progress (L19).
    fn report(&mut self, extension: &Extension) {
        if let Some(progress) = &extension.progress {
            self.progress.insert(extension.receipt.id, progress.clone());
        }
    }

    /// The message whose live lease this receipt is, and its deadline (L4).
    #[inline]
    fn live(&self, receipt: Receipt, now: Timestamp) -> Option<(Slot, Timestamp)> {
        let slot = self.index.get(receipt.id)?;
        let EntryPlace::Leased {
            token, deadline, ..
        } = self.entries[slot].place
        else {
            return None;
        };
        let held = token == receipt.token;
        planted!(AckIgnoresTheToken => held = true);
        let lives = now < deadline;
        planted!(LiveAtItsDeadline | AckAfterExpiry | ExtendRevivesTheExpired => lives = true);
        (held && lives).then_some((slot, deadline))
    }
}
