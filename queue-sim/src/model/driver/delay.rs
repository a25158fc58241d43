use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{DelayConfig, DelayQueue, Due, Pushed, Result, Scheduled, Timestamp};

use super::{Clock, Diverged, Drive, Driver, divergence::agree, leasing::Fill, name};
use crate::{
    Harness,
    model::{DelayModel, DelayOp, Parcel, Time},
};

/// A delay queue and its model.
pub type DelayDriver = Driver<DelayModel, dyn DelayQueue>;

#[async_trait]
impl Drive for DelayDriver {
    type Config = DelayConfig;
    type Op = DelayOp;

    async fn open(harness: Arc<dyn Harness>, config: &DelayConfig) -> Result<Self> {
        let backend = harness.connect().await;
        let clock = Clock::read(harness, &*backend).await?;
        let queue = backend.open_delay(&name()?, config).await?;
        Ok(Self::new(queue, DelayModel::new(config), clock))
    }

    async fn apply(&mut self, op: &DelayOp) -> Result<(), Diverged> {
        let now = self.clock.now();
        match op {
            DelayOp::Leasing(op) => return self.apply_leasing(op).await,
            DelayOp::Schedule(batch) => self.schedule(batch).await?,
            DelayOp::Cancel(ids) => {
                let ids = self.ids(ids);
                let cancelled = self.queue.cancel(&ids).await;
                agree("cancel", self.model.cancel(now, &ids), cancelled)?.ok();
            }
            DelayOp::Reschedule(id, time) => {
                let (id, due) = (self.seen.id(*id), time.due(now));
                let moved = self.queue.reschedule(id, due).await;
                agree("reschedule", self.model.reschedule(now, id, due), moved)?.ok();
            }
            DelayOp::NextDue => {
                let next = self.queue.next_due().await;
                agree("next_due", Ok(self.model.next_due(now)), next)?.ok();
            }
        }
        self.look().await
    }
}

impl DelayDriver {
    async fn schedule(&mut self, parcels: &[(Parcel, Time)]) -> Result<(), Diverged> {
        let (now, parts) = (self.clock.now(), parcels.iter());
        let message =
            |(parcel, time): &(Parcel, Time)| Scheduled::new(parcel.push(), time.due(now));
        let batch: Vec<Scheduled> = parts.clone().map(message).collect();
        let pushed = self.queue.schedule(&batch).await;
        let pushed = agree("schedule", self.model.schedule(now, &batch), pushed)?;
        for ((parcel, _), pushed) in parts.zip(pushed.into_iter().flatten()) {
            if let Pushed::Accepted(id) = pushed {
                self.accepted(id, parcel)?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Fill for DelayDriver {
    async fn fill(&mut self, parcels: &[Parcel]) -> Result<(), Diverged> {
        let at_once = |parcel: &Parcel| (*parcel, Time::In(Duration::ZERO));
        let batch: Vec<_> = parcels.iter().map(at_once).collect();
        self.schedule(&batch).await
    }
}

impl Time {
    fn due(self, now: Timestamp) -> Due {
        match self {
            Self::In(delay) => Due::After(delay),
            Self::At(from_now) => {
                let time = now.as_millis().saturating_add_signed(from_now);
                Due::At(Timestamp::from_millis(time))
            }
            Self::Absolute(time) => Due::At(Timestamp::from_millis(time)),
        }
    }
}
