//! Opening queues, and listing them.

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use queue_core::{
    Backend, BoundedConfig, BoundedQueue, DelayConfig, DelayQueue, Error, ErrorKind, OnceStore,
    PriorityConfig, PriorityQueue, QueueInfo, QueueKind, QueueName, ReliableConfig, ReliableQueue,
    Result, RotatingConfig, RotatingQueue, limits,
};
use redis::Value;

use super::RedisBackend;
use crate::{
    keys,
    once::Once,
    queue::{self, Bounded, Handle, Queue, Ring, Stored},
};

impl RedisBackend {
    async fn open(
        &self,
        name: &QueueName,
        kind: QueueKind,
        config: String,
        capacity: Option<usize>,
    ) -> Result<(Handle, Stored)> {
        let handle = Handle::new(self, name, kind, config, capacity);
        let stored = handle.open().await?;
        Ok((handle, stored))
    }

    async fn open_bounded_as(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<(Queue<Bounded>, Stored)> {
        named(name, config.check())?;
        let text = queue::config::leasing(QueueKind::Bounded, &config.leasing);
        let capacity = Some(config.capacity);
        let (handle, stored) = self.open(name, QueueKind::Bounded, text, capacity).await?;
        Ok((Queue::new(handle, config.leasing.max_body), stored))
    }
}

#[async_trait]
impl Backend for RedisBackend {
    async fn open_reliable(
        &self,
        name: &QueueName,
        config: &ReliableConfig,
    ) -> Result<Arc<dyn ReliableQueue>> {
        named(name, config.check())?;
        let text = queue::config::leasing(QueueKind::Reliable, &config.leasing);
        let (handle, stored) = self.open(name, QueueKind::Reliable, text, None).await?;
        named(
            name,
            stored
                .reliable()
                .and_then(|stored| config.check_stored(&stored)),
        )?;
        Ok(Arc::new(Queue::<queue::Reliable>::new(
            handle,
            config.leasing.max_body,
        )))
    }

    async fn open_delay(
        &self,
        name: &QueueName,
        config: &DelayConfig,
    ) -> Result<Arc<dyn DelayQueue>> {
        named(name, config.check())?;
        let text = queue::config::leasing(QueueKind::Delay, &config.leasing);
        let (handle, stored) = self.open(name, QueueKind::Delay, text, None).await?;
        named(
            name,
            stored
                .delay()
                .and_then(|stored| config.check_stored(&stored)),
        )?;
        Ok(Arc::new(Queue::<queue::Delay>::new(
            handle,
            config.leasing.max_body,
        )))
    }

    async fn open_priority(
        &self,
        name: &QueueName,
        config: &PriorityConfig,
    ) -> Result<Arc<dyn PriorityQueue>> {
        named(name, config.check())?;
        let text = queue::config::priority(config);
        let (handle, stored) = self.open(name, QueueKind::Priority, text, None).await?;
        named(
            name,
            stored
                .priority()
                .and_then(|stored| config.check_stored(&stored)),
        )?;
        Ok(Arc::new(Queue::<queue::Priority>::new(
            handle,
            config.leasing.max_body,
        )))
    }

    async fn open_bounded(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let (queue, stored) = self.open_bounded_as(name, config).await?;
        let resized = stored.resized;
        named(
            name,
            stored
                .bounded()
                .and_then(|stored| config.check_stored(&stored, resized)),
        )?;
        Ok(Arc::new(queue))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let (queue, stored) = self.open_bounded_as(name, config).await?;
        let stored = named(name, stored.bounded())?;
        named(name, config.check_stored(&stored, true))?;
        let asked = NonZeroUsize::new(config.capacity);
        if let Some(capacity) = asked.filter(|asked| asked.get() != stored.capacity) {
            queue.resize(capacity).await?;
        }
        Ok(Arc::new(queue))
    }

    async fn open_rotating(
        &self,
        name: &QueueName,
        config: &RotatingConfig,
    ) -> Result<Arc<dyn RotatingQueue>> {
        named(name, config.check())?;
        let text = queue::config::rotating(config);
        let (handle, stored) = self.open(name, QueueKind::Rotating, text, None).await?;
        named(
            name,
            stored
                .rotating()
                .and_then(|stored| config.check_stored(&stored)),
        )?;
        Ok(Arc::new(Ring::new(handle, config.max_body)))
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        Ok(Arc::new(Once::open(self, name).await?))
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        // Entries are `name kind`; `!` follows the blank and comes before all that a name may have.
        let start = after.map_or_else(|| "-".to_owned(), |name| format!("({name}!"));
        let mut command = redis::cmd("ZRANGEBYLEX");
        command
            .arg(keys::registry(self.prefix()))
            .arg(start)
            .arg("+");
        command.arg("LIMIT").arg(0).arg(limit.get());
        let Value::Array(entries) = self.client().command(&command).await? else {
            return Err(unreadable());
        };
        entries.into_iter().map(info).collect()
    }
}

fn info(entry: Value) -> Result<QueueInfo> {
    let Value::BulkString(entry) = entry else {
        return Err(unreadable());
    };
    let entry = String::from_utf8(entry).map_err(|_| unreadable())?;
    let (name, kind) = entry.split_once(' ').ok_or_else(unreadable)?;
    let kind = QueueKind::ALL
        .into_iter()
        .find(|known| known.as_str() == kind);
    Ok(QueueInfo {
        name: QueueName::new(name)?,
        kind: kind.ok_or_else(unreadable)?,
    })
}

fn unreadable() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the list of queues has an entry that queue-kit did not write",
    )
}

fn named<T>(name: &QueueName, result: Result<T>) -> Result<T> {
    result.map_err(|error| error.with_queue(name))
}
