//! Ending leases, and moving their deadlines.

use queue_core::{
    DeathReason, Disposition, Extended, Leased, Receipt, Settled, Settlement, Timestamp, limits,
    millis_ceil,
};

use super::{
    backlog::Backlog,
    entry::{Place, Slot},
    kind::Kind,
    leasing::State,
};

impl<K: Kind> State<K> {
    pub(crate) fn settle(&mut self, now: Timestamp, settlements: &[Settlement]) -> Vec<Settled> {
        let now = match planted!(AckAfterExpiry) {
            true => now,
            false => self.begin(now),
        };
        let each = settlements.iter();
        each.map(|settlement| self.settle_one(settlement, now))
            .collect()
    }

    /// [`settle`](Self::settle), then [`lease`](Self::lease): each reclaims.
    pub(crate) fn turn(
        &mut self,
        now: Timestamp,
        settlements: &[Settlement],
        max: usize,
        ttl: u64,
    ) -> (Vec<Settled>, Leased) {
        let settled = match settlements {
            [] => Vec::new(),
            _ => self.settle(now, settlements),
        };
        (settled, self.lease(now, max, ttl))
    }

    fn settle_one(&mut self, settlement: &Settlement, now: Timestamp) -> Settled {
        let Some((slot, deadline)) = self.live(settlement.receipt, now) else {
            return Settled::LeaseLost;
        };
        let id = settlement.receipt.id;
        if planted!(NackKeepsItsLease)
            && let Disposition::Retry { .. } | Disposition::Defer { .. } | Disposition::Release =
                settlement.disposition
        {
            return Settled::Done;
        }
        self.leases.remove(deadline, id);
        if !K::INDEXED {
            self.index.remove(id);
        }
        match &settlement.disposition {
            Disposition::Ack => {
                self.forget(slot);
                self.counters.acked += 1;
                Settled::Done
            }
            Disposition::Retry { .. }
                if self.entries[slot].attempts >= self.max_attempts && !planted!(PoisonCircles) =>
            {
                self.die(slot, DeathReason::Retried, now);
                Settled::Dead
            }
            Disposition::Retry { delay } => {
                let due = now.plus_millis(millis_ceil(*delay));
                if !planted!(RetryKeepsArrival) {
                    self.entries[slot].arrival = due;
                }
                self.delay(slot, due);
                self.counters.retried += 1;
                Settled::Done
            }
            Disposition::Defer { delay } => {
                let due = now.plus_millis(millis_ceil(*delay));
                self.entries[slot].attempts -= 1;
                self.delay(slot, due);
                self.counters.deferred += 1;
                Settled::Done
            }
            Disposition::Release => {
                if !planted!(ReleaseCharges) {
                    self.entries[slot].attempts -= 1;
                }
                self.backlog.rejoin(&mut self.entries, slot, now);
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

    pub(crate) fn extend(
        &mut self,
        now: Timestamp,
        receipts: &[Receipt],
        ttl: u64,
    ) -> Vec<Extended> {
        let now = match planted!(ExtendRevivesTheExpired) {
            true => now,
            false => self.begin(now),
        };
        let each = receipts.iter();
        each.map(|receipt| self.extend_one(*receipt, now, ttl))
            .collect()
    }

    fn extend_one(&mut self, receipt: Receipt, now: Timestamp, ttl: u64) -> Extended {
        let Some((slot, old)) = self.live(receipt, now) else {
            return Extended::LeaseLost;
        };
        let mut deadline = now.plus_millis(ttl);
        if planted!(ExtendTakesTheLater) {
            deadline = deadline.max(old);
        }
        let token = receipt.token;
        self.entries[slot].place = Place::Leased { token, deadline };
        self.leases.remove(old, receipt.id);
        self.hold(slot, receipt.id, deadline);
        Extended::Extended
    }

    /// The message whose live lease this receipt is, and its deadline (L4).
    #[inline]
    fn live(&self, receipt: Receipt, now: Timestamp) -> Option<(Slot, Timestamp)> {
        let slot = self.index.get(receipt.id)?;
        match self.entries[slot].place {
            Place::Leased { token, deadline } => {
                let held = token == receipt.token || planted!(AckIgnoresTheToken);
                let lives = now < deadline
                    || planted!(LiveAtItsDeadline | AckAfterExpiry | ExtendRevivesTheExpired);
                (held && lives).then_some((slot, deadline))
            }
            _ => None,
        }
    }
}
