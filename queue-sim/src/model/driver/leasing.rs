use std::{num::NonZeroUsize, ops::DerefMut, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Bytes, Disposition, Extended, Leased, Leasing, MessageId, Receipt, Settled, Settlement,
    Timestamp, limits::MAX_BATCH,
};

use super::{Diverged, Driver, divergence::agree};
use crate::model::{
    LeasingModel, limits,
    op::{BadCall, How, IdRef, Jump, LeasingOp, Parcel, ReceiptRef, Round},
};

/// Further than this, nobody waits: due times go up to 2^53 ms, and the clock does not.
const FAR: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Putting messages in, which each kind does in its own way.
#[async_trait]
pub(super) trait Fill {
    /// Puts a batch in, in the kind's plainest way.
    async fn fill(&mut self, parcels: &[Parcel]) -> Result<(), Diverged>;
}

#[expect(private_bounds, reason = "the kinds here, and no others")]
impl<M, Q> Driver<M, Q>
where
    M: DerefMut<Target = LeasingModel> + Send + Sync,
    Q: Leasing + ?Sized,
    Self: Fill,
{
    pub(super) async fn apply_leasing(&mut self, op: &LeasingOp) -> Result<(), Diverged> {
        match op {
            LeasingOp::Advance(jump) => return self.advance(*jump).await,
            LeasingOp::Pause => return self.pause(true).await,
            LeasingOp::Resume => return self.pause(false).await,
            LeasingOp::Lease(max, ttl) => drop(self.lease(*max, *ttl).await?),
            LeasingOp::Settle(batch) => self.settle(&self.settlements(batch)).await?,
            LeasingOp::Turn(batch, max, ttl) => {
                self.turn(&self.settlements(batch), *max, *ttl).await?;
            }
            LeasingOp::Extend(batch, ttl) => self.extend(&self.receipts(batch), *ttl).await?,
            LeasingOp::DeadLetters { limit, go_on } => self.dead_letters(*limit, *go_on).await?,
            LeasingOp::Revive(ids) => self.revive(&self.ids(ids)).await?,
            LeasingOp::Discard(ids) => self.discard(&self.ids(ids)).await?,
            LeasingOp::Purge(max) => self.purge(*max).await?,
            LeasingOp::Burst(rounds) => {
                for round in rounds {
                    self.burst(round).await?;
                }
            }
            LeasingOp::Bad(call) => self.call_badly(*call).await?,
        }
        self.look().await
    }

    /// Takes note of an accepted message.
    pub(super) fn accepted(&mut self, id: MessageId, body: &Bytes) -> Result<(), Diverged> {
        self.seen.add_id(id);
        Ok(self.rules.accepted(id, body.clone())?)
    }

    pub(super) fn ids(&self, ids: &[IdRef]) -> Vec<MessageId> {
        ids.iter().map(|id| self.seen.id(*id)).collect()
    }

    async fn advance(&mut self, jump: Jump) -> Result<(), Diverged> {
        let now = self.clock.now();
        let millis = jump.millis(now, self.model.next_boundary(now));
        self.clock.advance(millis).await;
        Ok(())
    }

    async fn lease(&mut self, max: usize, ttl: Duration) -> Result<Vec<Receipt>, Diverged> {
        let (now, max) = (self.clock.now(), at_least_one(max));
        let leased = self.queue.lease(max, ttl).await;
        match agree("lease", self.model.lease(now, max, ttl), leased)? {
            Ok(leased) => {
                let short = (1..max.get()).contains(&leased.deliveries.len());
                let cut = short && self.model.is_ready(now);
                self.goals.reach_if(cut, "8 MiB cut a lease short");
                let paused = leased.is_empty() && self.model.is_ready(now);
                self.goals
                    .reach_if(paused, "a paused queue handed out nothing");
                self.took(&leased, ttl)
            }
            Err(_) => {
                self.goals.reach("an invalid call was refused");
                Ok(Vec::new())
            }
        }
    }

    async fn settle(&mut self, batch: &[Settlement]) -> Result<(), Diverged> {
        let settled = self.queue.settle(batch).await;
        let model = self.model.settle(self.clock.now(), batch);
        match agree("settle", model, settled)? {
            Ok(settled) => self.ended(batch, &settled),
            Err(_) => Ok(()),
        }
    }

    async fn turn(
        &mut self,
        batch: &[Settlement],
        max: usize,
        ttl: Duration,
    ) -> Result<(), Diverged> {
        let max = at_least_one(max);
        let turned = self.queue.turn(batch, max, ttl).await;
        let model = self.model.turn(self.clock.now(), batch, max, ttl);
        if let Ok((settled, leased)) = agree("turn", model, turned)? {
            self.ended(batch, &settled)?;
            self.took(&leased, ttl)?;
        }
        Ok(())
    }

    async fn extend(&mut self, receipts: &[Receipt], ttl: Duration) -> Result<(), Diverged> {
        let now = self.clock.now();
        let extended = self.queue.extend(receipts, ttl).await;
        let model = self.model.extend(now, receipts, ttl);
        let extended = agree("extend", model, extended)?.into_iter().flatten();
        for (receipt, extended) in receipts.iter().zip(extended) {
            let ttl = limits::millis(ttl);
            self.rules.extended(*receipt, extended, ttl, now)?;
            self.goals.reach(match extended {
                Extended::Extended => "a lease was extended",
                Extended::LeaseLost => "a stale extension was refused",
            });
        }
        Ok(())
    }

    async fn burst(&mut self, round: &Round) -> Result<(), Diverged> {
        self.fill(&round.parcels()).await?;
        let Some(ttl) = round.ttl else {
            return Ok(());
        };
        let receipts = self.lease(MAX_BATCH, ttl).await?;
        match round.how {
            Some(how) if !receipts.is_empty() => self.settle(&all(&receipts, how)).await,
            _ => Ok(()),
        }
    }

    async fn call_badly(&mut self, call: BadCall) -> Result<(), Diverged> {
        const TOO_MANY: usize = MAX_BATCH + 1;
        let second = Duration::from_secs(1);
        let receipts: Vec<ReceiptRef> = (0..TOO_MANY).map(ReceiptRef::Seen).collect();
        let receipts = self.receipts(&receipts);
        let ids: Vec<IdRef> = (0..TOO_MANY).map(IdRef::Seen).collect();
        let ids = self.ids(&ids);
        match call {
            BadCall::SettleTooMany => self.settle(&all(&receipts, How::Ack)).await,
            BadCall::TurnTooMany => self.turn(&all(&receipts, How::Ack), 1, second).await,
            BadCall::ExtendTooMany => self.extend(&receipts, second).await,
            BadCall::ReviveTooMany => self.revive(&ids).await,
            BadCall::DiscardTooMany => self.discard(&ids).await,
            BadCall::PushTooMany => self.fill(&[Parcel::PLAIN; TOO_MANY]).await,
        }
    }

    /// Takes note of deliveries.
    fn took(&mut self, leased: &Leased, ttl: Duration) -> Result<Vec<Receipt>, Diverged> {
        let (now, ttl) = (self.clock.now(), limits::millis(ttl));
        let mut receipts = Vec::new();
        for delivery in &leased.deliveries {
            self.seen.add_receipt(delivery.receipt);
            self.rules.delivered(delivery, ttl, now)?;
            receipts.push(delivery.receipt);
        }
        Ok(receipts)
    }

    /// Takes note of settlements.
    fn ended(&mut self, batch: &[Settlement], settled: &[Settled]) -> Result<(), Diverged> {
        let now = self.clock.now();
        for (settlement, settled) in batch.iter().zip(settled) {
            let ack = settlement.disposition == Disposition::Ack;
            self.rules.settled(settlement.receipt, ack, *settled, now)?;
            match settled {
                Settled::Done => {}
                Settled::Dead => self.goals.reach("a message died when it was settled"),
                Settled::LeaseLost => self.goals.reach("a stale settlement was refused"),
            }
        }
        Ok(())
    }

    fn receipts(&self, receipts: &[ReceiptRef]) -> Vec<Receipt> {
        let receipts = receipts.iter();
        receipts
            .map(|receipt| self.seen.receipt(*receipt))
            .collect()
    }

    fn settlements(&self, batch: &[(ReceiptRef, How)]) -> Vec<Settlement> {
        let settlement = |(receipt, how): &(ReceiptRef, How)| {
            Settlement::new(self.seen.receipt(*receipt), how.disposition())
        };
        batch.iter().map(settlement).collect()
    }
}

impl Jump {
    /// How far it is from now, with the next boundary there.
    pub(super) fn millis(self, now: Timestamp, boundary: Option<Timestamp>) -> u64 {
        match self {
            Self::By(millis) => millis,
            Self::Next(past) => boundary.map_or(0, |boundary| {
                let target = boundary.as_millis().saturating_add_signed(past.into());
                let millis = target.saturating_sub(now.as_millis());
                if millis > FAR { 0 } else { millis }
            }),
        }
    }
}

/// The traits' types leave no way to ask for none.
pub(super) fn at_least_one(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
}

/// All of these leases ended in the same way.
fn all(receipts: &[Receipt], how: How) -> Vec<Settlement> {
    let settlement = |receipt: &Receipt| Settlement::new(*receipt, how.disposition());
    receipts.iter().map(settlement).collect()
}
