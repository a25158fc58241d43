use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use queue_conformance::Harness;
use queue_core::{Prioritized, PriorityConfig, PriorityQueue, Pushed, Result};

use super::{
    Clock, Diverged, Drive, Driver, divergence::agree, goals::LEASING, leasing::Fill, name,
};
use crate::model::{Parcel, PriorityModel, PriorityOp};

/// A priority queue and its model.
pub type PriorityDriver = Driver<PriorityModel, dyn PriorityQueue>;

#[async_trait]
impl Drive for PriorityDriver {
    type Config = PriorityConfig;
    type Op = PriorityOp;

    fn goals() -> BTreeSet<&'static str> {
        LEASING.iter().copied().collect()
    }

    fn reached(&self) -> &BTreeSet<&'static str> {
        self.goals.reached()
    }

    async fn open(harness: Arc<dyn Harness>, config: &PriorityConfig) -> Result<Self> {
        let backend = harness.connect().await;
        let clock = Clock::read(harness, &*backend).await?;
        let queue = backend.open_priority(&name()?, config).await?;
        Ok(Self::new(queue, PriorityModel::new(config), clock))
    }

    async fn apply(&mut self, op: &PriorityOp) -> Result<(), Diverged> {
        match op {
            PriorityOp::Leasing(op) => return self.apply_leasing(op).await,
            PriorityOp::Enqueue(batch) => self.enqueue(batch).await?,
        }
        self.look().await
    }
}

impl PriorityDriver {
    async fn enqueue(&mut self, parcels: &[(Parcel, i16)]) -> Result<(), Diverged> {
        let message =
            |(parcel, priority): &(Parcel, i16)| Prioritized::new(parcel.push(), *priority);
        let batch: Vec<Prioritized> = parcels.iter().map(message).collect();
        let pushed = self.queue.enqueue(&batch).await;
        let model = self.model.enqueue(self.clock.now(), &batch);
        let pushed = agree("enqueue", model, pushed)?.into_iter().flatten();
        for (message, pushed) in batch.iter().zip(pushed) {
            match pushed {
                Pushed::Accepted(id) => self.accepted(id, &message.push.body)?,
                Pushed::Duplicate(_) => self.goals.reach("a push was a duplicate"),
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Fill for PriorityDriver {
    async fn fill(&mut self, parcels: &[Parcel]) -> Result<(), Diverged> {
        let spread = parcels.iter().copied().zip([0, 1, -1].into_iter().cycle());
        self.enqueue(&spread.collect::<Vec<_>>()).await
    }
}
