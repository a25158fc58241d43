use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_conformance::Harness;
use queue_core::{
    Backend, Error, LeasingExt, QueueName, ReliableConfig, ReliableQueueExt, Result, Timestamp,
    limits::MAX_LEASE,
};

/// The backend's clock, as the test knows it: read once, moved by [`Harness::advance`] only.
#[derive(Debug)]
pub(super) struct Clock {
    harness: Arc<dyn Harness>,
    now: Timestamp,
}

impl Clock {
    /// Reads the clock: the first token of a queue is the time, in thousandths of a millisecond.
    pub(super) async fn read(harness: Arc<dyn Harness>, backend: &dyn Backend) -> Result<Self> {
        let name = QueueName::new("clock")?;
        let config = ReliableConfig::default();
        let queue = backend.open_reliable(&name, &config).await?;
        queue.push_one("what time is it?").await?;
        let leased = queue.lease(NonZeroUsize::MIN, MAX_LEASE).await?;
        let Some(first) = leased.deliveries.first() else {
            return Err(Error::invalid("a queue named `clock` that is not fresh"));
        };
        queue.ack(first.receipt).await?;
        let now = Timestamp::from_millis(first.receipt.token.get() / 1_000);
        Ok(Self { harness, now })
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) async fn advance(&mut self, millis: u64) {
        self.harness.advance(Duration::from_millis(millis)).await;
        self.now = self.now.plus_millis(millis);
    }
}
