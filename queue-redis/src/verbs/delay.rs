//! The delay queue.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{DelayQueue, Due, Push, QueueKind, Result};
use redis_link::ScriptCall;

use super::{Queue, kind::LeasingKind};
use crate::{
    frame,
    scripts::{self, LeasingScripts},
};

/// Delivers each message at its due time.
#[derive(Debug)]
pub(crate) enum Delay {}

impl LeasingKind for Delay {
    const KIND: QueueKind = QueueKind::Delay;
    const SCRIPTS: &LeasingScripts = &scripts::DELAY;

    fn add_before(batch: &[Push], call: &mut ScriptCall) {
        let due = |push: &Push| push.due.unwrap_or(Due::After(Duration::ZERO));
        let dues: Vec<u8> = batch
            .iter()
            .flat_map(|push| frame::due(due(push)))
            .collect();
        call.push(&dues[..]);
    }
}

#[async_trait]
impl DelayQueue for Queue<Delay> {
    async fn next_due(&self) -> Result<Option<Duration>> {
        let call = self.handle.prepare(&scripts::DELAY_NEXT_DUE);
        self.handle.run(&call).await?.time()
    }
}
