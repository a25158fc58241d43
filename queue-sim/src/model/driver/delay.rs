use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_conformance::Harness;
use queue_core::{
    Cancelled, DelayConfig, DelayQueue, Due, Pushed, Rescheduled, Result, Scheduled, Timestamp,
};

use super::{
    Clock, Diverged, Drive, Driver, divergence::agree, goals::LEASING, leasing::Fill, name,
};
use crate::model::{DelayModel, DelayOp, Parcel, Time};

/// A delay queue and its model.
pub type DelayDriver = Driver<DelayModel, dyn DelayQueue>;

#[async_trait]
impl Drive for DelayDriver {
    type Config = DelayConfig;
    type Op = DelayOp;

    fn goals() -> BTreeSet<&'static str> {
        let more = [
            "a message was cancelled",
            "a cancellation was too late",
            "a message was rescheduled",
        ];
        LEASING.iter().copied().chain(more).collect()
    }

    fn reached(&self) -> &BTreeSet<&'static str> {
        self.goals.reached()
    }

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
                let cancelled = agree("cancel", self.model.cancel(now, &ids), cancelled)?;
                let late = cancelled.is_ok_and(|all| all.contains(&Cancelled::TooLate));
                self.goals.reach_if(late, "a cancellation was too late");
            }
            DelayOp::Reschedule(id, time) => {
                let (id, due) = (self.seen.id(*id), time.due(now));
                let moved = self.queue.reschedule(id, due).await;
                let moved = agree("reschedule", self.model.reschedule(now, id, due), moved)?;
                let moved = moved == Ok(Rescheduled::Moved);
                self.goals.reach_if(moved, "a message was rescheduled");
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
        let now = self.clock.now();
        let message =
            |(parcel, time): &(Parcel, Time)| Scheduled::new(parcel.push(), time.due(now));
        let batch: Vec<Scheduled> = parcels.iter().map(message).collect();
        let pushed = self.queue.schedule(&batch).await;
        let pushed = agree("schedule", self.model.schedule(now, &batch), pushed)?;
        for (message, pushed) in batch.iter().zip(pushed.into_iter().flatten()) {
            match pushed {
                Pushed::Accepted(id) => self.accepted(id, &message.push.body)?,
                Pushed::Duplicate(_) => self.goals.reach("a push was a duplicate"),
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
