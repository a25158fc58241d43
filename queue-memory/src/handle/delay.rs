use std::time::Duration;

use async_trait::async_trait;
use queue_core::{DelayQueue, Due, MessageId, Pushed, Rescheduled, Result, Scheduled};

use super::LeasingHandle;
use crate::state::{Delay, State};

#[async_trait]
impl DelayQueue for LeasingHandle<Delay> {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        self.checked(Scheduled::check_all(messages, self.max_body))?;
        self.call(|state, now| state.schedule(now, messages))
    }

    async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled> {
        self.checked(due.check())?;
        self.call(|state, now| state.reschedule(now, id, due))
    }

    async fn next_due(&self) -> Result<Option<Duration>> {
        self.call(State::next_due)
    }
}
