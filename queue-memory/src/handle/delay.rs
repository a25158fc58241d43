use std::time::Duration;

use async_trait::async_trait;
use queue_core::{
    Cancelled, DelayQueue, Due, MessageId, Pushed, Rescheduled, Result, Scheduled, limits,
};

use super::LeasingHandle;
use crate::state::{Delay, State};

#[async_trait]
impl DelayQueue for LeasingHandle<Delay> {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        self.checked(Scheduled::check_all(messages, self.max_body))?;
        self.call(|state, now| state.schedule(now, messages))
    }

    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        self.checked(limits::check_batch(ids.len()))?;
        self.call(|state, now| state.cancel(now, ids))
    }

    async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled> {
        self.checked(due.check())?;
        self.call(|state, now| state.reschedule(now, id, due))
    }

    async fn next_due(&self) -> Result<Option<Duration>> {
        self.call(State::next_due)
    }
}
