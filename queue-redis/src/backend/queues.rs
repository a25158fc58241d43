//! Opening queues, and listing them.

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Error, ErrorKind, OnceStore, QueueConfig,
    QueueInfo, QueueKind, QueueName, Result, limits,
};
use redis::Value;

use super::RedisBackend;
use crate::{
    keys,
    once::Once,
    queue::{self, Bounded, Handle, Queue, Ring, Stored},
};

impl RedisBackend {
    /// A handle to the queue, created if it does not exist, and the stored configuration. This does
    /// not check whether that agrees.
    async fn handle(&self, name: &QueueName, config: &QueueConfig) -> Result<(Handle, Stored)> {
        config.check()?;
        let capacity = match config {
            QueueConfig::Bounded(config) => Some(config.capacity),
            _ => None,
        };
        let text = queue::config::text(config);
        let handle = Handle::new(self, name, config.kind(), text, capacity);
        let stored = handle.open().await?;
        Ok((handle, stored))
    }

    async fn queue(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let (handle, stored) = self.handle(name, config).await?;
        stored.agrees(config)?;
        Ok(match config {
            QueueConfig::Reliable(config) => AnyQueue::Reliable(Arc::new(
                Queue::<queue::Reliable>::new(handle, config.leasing.max_body),
            )),
            QueueConfig::Delay(config) => AnyQueue::Delay(Arc::new(Queue::<queue::Delay>::new(
                handle,
                config.leasing.max_body,
            ))),
            QueueConfig::Priority(config) => AnyQueue::Priority(Arc::new(
                Queue::<queue::Priority>::new(handle, config.leasing.max_body),
            )),
            QueueConfig::Bounded(config) => AnyQueue::Bounded(Arc::new(Queue::<Bounded>::new(
                handle,
                config.leasing.max_body,
            ))),
            QueueConfig::Rotating(config) => {
                AnyQueue::Rotating(Arc::new(Ring::new(handle, config.max_body)))
            }
        })
    }

    async fn resized(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let (handle, stored) = self.handle(name, &config.clone().into()).await?;
        let queue = Queue::<Bounded>::new(handle, config.leasing.max_body);
        let stored = stored.bounded()?;
        config.check_stored(&stored, true)?;
        let asked = NonZeroUsize::new(config.capacity);
        if let Some(capacity) = asked.filter(|asked| asked.get() != stored.capacity) {
            queue.resize(capacity).await?;
        }
        Ok(Arc::new(queue))
    }
}

#[async_trait]
impl Backend for RedisBackend {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let opened = self.queue(name, config).await;
        opened.map_err(|error| error.with_queue(name))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let opened = self.resized(name, config).await;
        opened.map_err(|error| error.with_queue(name))
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
        // Entries are `name kind`; `!` follows the blank and comes before all characters of a name.
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
