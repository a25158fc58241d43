//! Delay queues: D1 to D5.

mod due;

use std::sync::Arc;

use queue_core::*;

pub(super) use self::due::*;
use crate::{
    stage::{Stage, openers},
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
    put(&**queue, super::leasing::later(millis)).await
}
