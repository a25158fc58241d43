use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use queue_conformance::Harness;
use queue_core::{BoundedConfig, BoundedQueue, Offer, Offered, Overflow, Result};

use super::{
    Clock, Diverged, Drive, Driver,
    divergence::agree,
    goals::LEASING,
    leasing::{Fill, at_least_one},
    name,
};
use crate::model::{BoundedModel, BoundedOp, Parcel, op::key};

/// A bounded queue and its model.
pub type BoundedDriver = Driver<BoundedModel, dyn BoundedQueue>;

#[async_trait]
impl Drive for BoundedDriver {
    type Config = BoundedConfig;
    type Op = BoundedOp;

    fn goals() -> BTreeSet<&'static str> {
        let more = [
            "a message was evicted",
            "a message was replaced",
            "a push found no room",
            "a revival found no room",
        ];
        LEASING.iter().copied().chain(more).collect()
    }

    fn reached(&self) -> &BTreeSet<&'static str> {
        self.goals.reached()
    }

    async fn open(harness: Arc<dyn Harness>, config: &BoundedConfig) -> Result<Self> {
        let backend = harness.connect().await;
        let clock = Clock::read(harness, &*backend).await?;
        let queue = backend.open_bounded(&name()?, config).await?;
        let mut driver = Self::new(queue, BoundedModel::new(config), clock);
        driver.rules.sized(config.capacity);
        Ok(driver)
    }

    async fn apply(&mut self, op: &BoundedOp) -> Result<(), Diverged> {
        let now = self.clock.now();
        match op {
            BoundedOp::Leasing(op) => return self.apply_leasing(op).await,
            BoundedOp::Offer(batch, overflow) => self.offer(batch, *overflow).await?,
            BoundedOp::Recent(n) => {
                let recent = self.queue.recent(*n).await;
                agree("recent", self.model.recent(now, *n), recent)?.ok();
            }
            BoundedOp::Capacity => {
                let capacity = self.queue.capacity().await.map(NonZeroUsize::get);
                agree("capacity", Ok(self.model.capacity()), capacity)?.ok();
                return Ok(());
            }
            BoundedOp::Resize(capacity) => {
                let capacity = at_least_one(*capacity);
                let dropped = self.queue.resize(capacity).await;
                let model = self.model.resize(now, capacity);
                if agree("resize", model, dropped)?.is_ok() {
                    self.rules.sized(capacity.get());
                }
            }
        }
        self.look().await
    }
}

impl BoundedDriver {
    async fn offer(
        &mut self,
        parcels: &[(Parcel, Option<u8>)],
        overflow: Overflow,
    ) -> Result<(), Diverged> {
        let message = |(parcel, distinct): &(Parcel, Option<u8>)| {
            let offer = Offer::new(parcel.push());
            match distinct {
                Some(number) => offer.with_distinct(key(*number)),
                None => offer,
            }
        };
        let batch: Vec<Offer> = parcels.iter().map(message).collect();
        let offered = self.queue.offer(&batch, overflow).await;
        let model = self.model.offer(self.clock.now(), &batch, overflow);
        let offered = agree("offer", model, offered)?.into_iter().flatten();
        for (message, offered) in batch.iter().zip(offered) {
            match offered {
                Offered::Accepted { id, .. } | Offered::Replaced { id, .. } => {
                    self.accepted(id, &message.push.body)?;
                }
                Offered::Duplicate(_) => self.goals.reach("a push was a duplicate"),
                Offered::Full => self.goals.reach("a push found no room"),
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Fill for BoundedDriver {
    async fn fill(&mut self, parcels: &[Parcel]) -> Result<(), Diverged> {
        let plain: Vec<_> = parcels.iter().map(|parcel| (*parcel, None)).collect();
        self.offer(&plain, Overflow::Reject).await
    }
}
