use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use queue_conformance::Harness;
use queue_core::{Push, Pushed, ReliableConfig, ReliableQueue, Result};

use super::{
    Clock, Diverged, Drive, Driver, divergence::agree, goals::LEASING, leasing::Fill, name,
};
use crate::model::{Parcel, ReliableModel, ReliableOp};

/// A reliable queue and its model.
pub type ReliableDriver = Driver<ReliableModel, dyn ReliableQueue>;

#[async_trait]
impl Drive for ReliableDriver {
    type Config = ReliableConfig;
    type Op = ReliableOp;

    fn goals() -> BTreeSet<&'static str> {
        LEASING.iter().copied().collect()
    }

    fn reached(&self) -> &BTreeSet<&'static str> {
        self.goals.reached()
    }

    async fn open(harness: Arc<dyn Harness>, config: &ReliableConfig) -> Result<Self> {
        let backend = harness.connect().await;
        let clock = Clock::read(harness, &*backend).await?;
        let queue = backend.open_reliable(&name()?, config).await?;
        Ok(Self::new(queue, ReliableModel::new(config), clock))
    }

    async fn apply(&mut self, op: &ReliableOp) -> Result<(), Diverged> {
        match op {
            ReliableOp::Leasing(op) => return self.apply_leasing(op).await,
            ReliableOp::Push(parcels) => self.fill(parcels).await?,
        }
        self.look().await
    }
}

#[async_trait]
impl Fill for ReliableDriver {
    async fn fill(&mut self, parcels: &[Parcel]) -> Result<(), Diverged> {
        let batch: Vec<Push> = parcels.iter().map(|parcel| parcel.push()).collect();
        let pushed = self.queue.push(&batch).await;
        let model = self.model.push(self.clock.now(), &batch);
        let pushed = agree("push", model, pushed)?.into_iter().flatten();
        for (message, pushed) in batch.iter().zip(pushed) {
            match pushed {
                Pushed::Accepted(id) => self.accepted(id, &message.body)?,
                Pushed::Duplicate(_) => self.goals.reach("a push was a duplicate"),
            }
        }
        Ok(())
    }
}
