//! Delay queues: D1 to D5.

mod changes;
mod due;
mod prompt;

use std::sync::Arc;

use queue_core::*;

// These cases hold for delay queues, too, which schedule a push for its due time.
pub(super) use self::{changes::*, due::*, prompt::*};
pub(super) use super::lines::{
    d1_a_pushed_message_is_never_early as d1_a_message_is_never_early,
    waiting_a_plain_push_wakes_who_sleeps_towards_a_later as d5_a_message_due_now_wakes_who_sleeps_towards_a_later,
    waiting_a_sooner_push_wakes_who_sleeps_towards_a_later as d5_a_sooner_message_wakes_who_sleeps_towards_a_later,
    waiting_all_that_is_due_at_once_wakes_as_many as d5_all_that_is_due_at_once_wakes_as_many,
};
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

/// Schedules a message the given number of milliseconds ahead.
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
