//! Calls that name messages: each goes to the partition in the message's id.

use std::time::Duration;

use futures_util::future::join_all;

use super::{
    ids,
    looking::whole_standing,
    partitions::Partitions,
    split::{Answers, PartitionShare, split, together},
};
use crate::{
    Cancelled, Disposition, Due, Extended, Extension, Found, MessageId, Rescheduled, Result,
    Revival, Revived, Settled, Settlement, call::Call, limits,
};

impl Partitions {
    pub(super) async fn settle(&self, batch: Vec<Settlement>) -> Result<Vec<Settled>> {
        limits::check_batch(batch.len())?;
        Settlement::check_all(&batch)?;
        let mut answers = Answers::to(batch.len());
        self.settle_shares(split(batch, in_partition), &mut answers)
            .await?;
        answers.all()
    }

    /// Settles each share in its partition, at the same time. A receipt of a missing partition is no live
    /// lease.
    pub(super) async fn settle_shares(
        &self,
        shares: Vec<PartitionShare<Settlement>>,
        answers: &mut Answers<Settled>,
    ) -> Result<()> {
        for share in shares.iter().filter(|share| share.partition < self.count()) {
            self.round_robin.asks(share.partition);
            self.will_settle(share);
        }
        self.share_known(shares, Call::Settle, Settled::LeaseLost, answers)
            .await
    }

    /// Notes that after these settlements a partition may have room, and messages again.
    pub(super) fn will_settle(&self, share: &PartitionShare<Settlement>) {
        let ends = |each: &Settlement| {
            matches!(
                each.disposition,
                Disposition::Ack | Disposition::AckWith(_) | Disposition::Bury { .. }
            )
        };
        if share.entries.iter().any(ends) {
            self.round_robin.may_have_room(share.partition);
        }
        if !share.entries.iter().all(ends) {
            self.round_robin.came(share.partition);
        }
    }

    pub(super) async fn extend(
        &self,
        extensions: Vec<Extension>,
        lease_time: Duration,
    ) -> Result<Vec<Extended>> {
        Extension::check_all(&extensions)?;
        limits::lease_millis(lease_time)?;
        let in_partition = |extension: Extension| {
            let (partition, receipt) = ids::receipt_in_partition(extension.receipt);
            (
                partition,
                Extension {
                    receipt,
                    ..extension
                },
            )
        };
        let call = |extensions| Call::Extend(extensions, lease_time);
        let lost = Extended::LeaseLost;
        self.by_partition(extensions, in_partition, call, lost)
            .await
    }

    pub(super) async fn find(&self, ids: Vec<MessageId>) -> Result<Vec<Found>> {
        limits::check_batch(ids.len())?;
        let found = self.by_partition(ids.clone(), ids::in_partition, Call::Find, Found::NeverWas);
        let mut found = found.await?;
        for (found, id) in found.iter_mut().zip(ids) {
            if let Found::Present { standing, .. } = found {
                whole_standing(ids::in_partition(id).0, standing);
            }
        }
        Ok(found)
    }

    pub(super) async fn wait_for_end(&self, id: MessageId, longest: Duration) -> Result<()> {
        let (partition, own) = ids::in_partition(id);
        if partition >= self.count() {
            return Ok(());
        }
        self.call(partition, Call::WaitForEnd(own, longest)).await
    }

    pub(super) async fn cancel(&self, ids: Vec<MessageId>) -> Result<Vec<Cancelled>> {
        limits::check_batch(ids.len())?;
        self.by_partition(ids, ids::in_partition, Call::Cancel, Cancelled::NeverWas)
            .await
    }

    pub(super) async fn revive(
        &self,
        ids: Vec<MessageId>,
        revival: Revival,
    ) -> Result<Vec<Revived>> {
        limits::check_batch(ids.len())?;
        ids.iter().for_each(|id| self.came_back(*id));
        let call = |ids| Call::Revive(ids, revival);
        self.by_partition(ids, ids::in_partition, call, Revived::NotFound)
            .await
    }

    pub(super) async fn discard(&self, ids: Vec<MessageId>) -> Result<u64> {
        limits::check_batch(ids.len())?;
        let shares = split(ids, ids::in_partition).into_iter();
        let known = shares.filter(|share| share.partition < self.count());
        let discard = |share: PartitionShare<MessageId>| {
            self.call::<u64>(share.partition, Call::Discard(share.entries))
        };
        let discarded = join_all(known.map(discard)).await;
        Ok(together(discarded)?.into_iter().sum())
    }

    pub(super) async fn reschedule(
        &self,
        ids: Vec<MessageId>,
        due: Due,
    ) -> Result<Vec<Rescheduled>> {
        limits::check_batch(ids.len())?;
        due.check()?;
        ids.iter().for_each(|id| self.came_back(*id));
        let call = |ids| Call::Reschedule(ids, due);
        self.by_partition(ids, ids::in_partition, call, Rescheduled::TooLate)
            .await
    }

    fn came_back(&self, id: MessageId) {
        let (partition, _) = ids::in_partition(id);
        if partition < self.count() {
            self.round_robin.came(partition);
        }
    }
}

/// The partition of a settlement, and the settlement there.
pub(super) fn in_partition(settlement: Settlement) -> (usize, Settlement) {
    let (partition, receipt) = ids::receipt_in_partition(settlement.receipt);
    (
        partition,
        Settlement {
            receipt,
            ..settlement
        },
    )
}
