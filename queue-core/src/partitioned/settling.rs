//! Calls that name messages: each goes to the part that its id tells.

use std::time::Duration;

use futures_util::future::join_all;

use super::{
    ids,
    parts::Parts,
    split::{Answers, Share, split, together},
};
use crate::{
    Cancelled, Disposition, Due, Extended, MessageId, Receipt, Rescheduled, Result, Revived,
    Settled, Settlement, call::Call, limits,
};

impl Parts {
    pub(super) async fn settle(&self, batch: Vec<Settlement>) -> Result<Vec<Settled>> {
        limits::check_batch(batch.len())?;
        Settlement::check_all(&batch)?;
        let mut answers = Answers::to(batch.len());
        self.settle_shares(split(batch, in_part), &mut answers)
            .await?;
        answers.all()
    }

    /// Settles each share in its part, at the same time; a made-up receipt is no live lease.
    pub(super) async fn settle_shares(
        &self,
        shares: Vec<Share<Settlement>>,
        answers: &mut Answers<Settled>,
    ) -> Result<()> {
        for share in shares.iter().filter(|share| share.part < self.count()) {
            self.rota.asks(share.part);
            self.will_settle(share);
        }
        self.share_known(shares, Call::Settle, Settled::LeaseLost, answers)
            .await
    }

    /// Notes what the settlements of a part may change: it has room, and messages again.
    pub(super) fn will_settle(&self, share: &Share<Settlement>) {
        let ends = |each: &Settlement| {
            matches!(
                each.disposition,
                Disposition::Ack | Disposition::Bury { .. }
            )
        };
        if share.entries.iter().any(ends) {
            self.rota.may_have_room(share.part);
        }
        if !share.entries.iter().all(ends) {
            self.rota.came(share.part);
        }
    }

    pub(super) async fn extend(
        &self,
        receipts: Vec<Receipt>,
        ttl: Duration,
    ) -> Result<Vec<Extended>> {
        limits::check_batch(receipts.len())?;
        limits::lease_millis(ttl)?;
        let call = |receipts| Call::Extend(receipts, ttl);
        let lost = Extended::LeaseLost;
        self.by_part(receipts, ids::receipt_in_part, call, lost)
            .await
    }

    pub(super) async fn cancel(&self, ids: Vec<MessageId>) -> Result<Vec<Cancelled>> {
        limits::check_batch(ids.len())?;
        self.by_part(ids, ids::in_part, Call::Cancel, Cancelled::NeverWas)
            .await
    }

    pub(super) async fn revive(&self, ids: Vec<MessageId>) -> Result<Vec<Revived>> {
        limits::check_batch(ids.len())?;
        ids.iter().for_each(|id| self.rota_came(*id));
        self.by_part(ids, ids::in_part, Call::Revive, Revived::NotFound)
            .await
    }

    pub(super) async fn discard(&self, ids: Vec<MessageId>) -> Result<u64> {
        limits::check_batch(ids.len())?;
        let shares = split(ids, ids::in_part).into_iter();
        let known = shares.filter(|share| share.part < self.count());
        let discard =
            |share: Share<MessageId>| self.call::<u64>(share.part, Call::Discard(share.entries));
        let discarded = join_all(known.map(discard)).await;
        Ok(together(discarded)?.into_iter().sum())
    }

    pub(super) async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled> {
        due.check()?;
        let (part, own) = ids::in_part(id);
        if part >= self.count() {
            return Ok(Rescheduled::TooLate);
        }
        self.rota.came(part);
        self.call(part, Call::Reschedule(own, due)).await
    }

    fn rota_came(&self, id: MessageId) {
        let (part, _) = ids::in_part(id);
        if part < self.count() {
            self.rota.came(part);
        }
    }
}

/// The part of a settlement, and the settlement there.
pub(super) fn in_part(settlement: Settlement) -> (usize, Settlement) {
    let (part, receipt) = ids::receipt_in_part(settlement.receipt);
    (
        part,
        Settlement {
            receipt,
            ..settlement
        },
    )
}
