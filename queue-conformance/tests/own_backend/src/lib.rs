//! Reliable queues in this process: a few sorted maps behind a lock.

mod clock;
mod lease;
mod operate;
mod push;
mod queue;
mod state;

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use queue_core::*;

use self::{
    clock::Clock,
    queue::{Handle, Queue},
};

/// A backend of reliable queues, gone when it is dropped.
#[derive(Debug, Default)]
pub struct Shelf {
    clock: Clock,
    queues: Mutex<BTreeMap<QueueName, Arc<Queue>>>,
}

#[async_trait]
impl Backend for Shelf {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let QueueConfig::Reliable(config) = config else {
            return Err(config.kind().missing(name));
        };
        config.check()?;
        let mut queues = self.queues.lock().expect("nothing panics under it");
        let queue = queues
            .entry(name.clone())
            .or_insert_with(|| Arc::new(Queue::new(config, self.clock)));
        config.check_stored(&queue.config)?;
        Ok(AnyQueue::Reliable(Arc::new(Handle {
            queue: Arc::clone(queue),
            max_body: config.leasing.max_body,
        })))
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        let queues = self.queues.lock().expect("nothing panics under it");
        let later = queues
            .keys()
            .filter(|name| after.is_none_or(|after| *name > after));
        let info = |name: &QueueName| QueueInfo {
            name: name.clone(),
            kind: QueueKind::Reliable,
        };
        Ok(later.take(limit.get()).map(info).collect())
    }
}
