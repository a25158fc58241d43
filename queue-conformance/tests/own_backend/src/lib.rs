//! Reliable queues in this process: a few sorted maps behind a lock.

mod clock;
mod lease;
mod operate;
mod peek;
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
        self.guarantees(QueueKind::Reliable)
            .check_config(&config.clone().into())?;
        let mut queues = self.queues.lock().expect("nothing panics under it");
        let queue = queues
            .entry(name.clone())
            .or_insert_with(|| Arc::new(Queue::new(config, self.clock)));
        config.check_stored(&queue.config())?;
        Ok(AnyQueue::Reliable(Arc::new(Handle {
            queue: Arc::clone(queue),
            max_body: config.leasing.max_body,
        })))
    }

    fn guarantees(&self, kind: QueueKind) -> Guarantees {
        Guarantees::all("our own", kind).without(Feature::Limits)
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        config.check()?;
        self.guarantees(config.kind()).check_config(config)?;
        let queues = self.queues.lock().expect("nothing panics under it");
        let Some(queue) = queues.get(name) else {
            return Ok(false);
        };
        let QueueConfig::Reliable(config) = config else {
            let reliable = QueueKind::Reliable;
            return Err(config_mismatch("kind", reliable, config.kind()));
        };
        queue.reconfigure(config);
        Ok(true)
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let queues = self.queues.lock().expect("nothing panics under it");
        Ok(queues.get(name).map(stored))
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        let page: Vec<_> = {
            let queues = self.queues.lock().expect("nothing panics under it");
            let later = queues
                .iter()
                .filter(|(name, _)| after.is_none_or(|after| *name > after));
            let stored = later.map(|(name, queue)| (name.clone(), stored(queue)));
            stored.take(limit.get()).collect()
        };
        let mut infos = Vec::new();
        for (name, stored) in page {
            infos.push(QueueInfo::new(
                name,
                QueueKind::Reliable,
                Some(stored.queue.counters().await?),
            ));
        }
        Ok(infos)
    }
}

/// The queue with its configuration and the default limit on bodies.
fn stored(queue: &Arc<Queue>) -> StoredQueue {
    let max_body = limits::DEFAULT_MAX_BODY;
    let handle = Handle {
        queue: Arc::clone(queue),
        max_body,
    };
    StoredQueue::new(
        queue.config().with_max_body(max_body).into(),
        AnyQueue::Reliable(Arc::new(handle)),
    )
}
