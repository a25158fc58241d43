//! Priority queues: P1 to P4.

mod ageing;
mod order;
mod outdating;

use std::sync::Arc;

use queue_core::*;

pub(super) use self::{ageing::*, order::*, outdating::*};
use crate::stage::{Stage, openers};

openers!(open_priority: priority_with, try_priority, PriorityConfig, PriorityQueue);

impl Stage<'_> {
    pub(crate) async fn priority(&self) -> Arc<dyn PriorityQueue> {
        self.priority_with(PriorityConfig::default()).await
    }
}
