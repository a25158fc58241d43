//! Delay queues: D1 to D5.

mod changes;
mod due;
mod prompt;

use std::sync::Arc;

use queue_core::*;

pub(super) use self::{changes::*, due::*, prompt::*};
use crate::{
    stage::{Stage, ms, openers},
    steps::*,
};

openers!(open_delay: delay_with, try_delay, DelayConfig, DelayQueue);

impl Stage<'_> {
    pub(crate) async fn delay(&self) -> Arc<dyn DelayQueue> {
        self.delay_with(DelayConfig::default()).await
    }
}

/// Schedules a message this many milliseconds ahead.
async fn schedule(queue: &Arc<dyn DelayQueue>, millis: u64) -> MessageId {
    let pushed = queue.schedule_one(format!("x{millis}"), ms(millis)).await;
    pushed.expect("is accepted").id()
}

/// The backend's time, from the token of a lease. It leaves nothing behind but a used id.
async fn now(queue: &Arc<dyn DelayQueue>) -> u64 {
    schedule(queue, 0).await;
    let delivery = take_one(&**queue).await;
    ack(&**queue, &delivery).await;
    delivery.receipt.token.get() / Token::PER_MILLI
}
