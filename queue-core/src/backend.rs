//! What opens queues.

use std::{fmt::Debug, num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    AnyQueue, BoundedConfig, BoundedQueue, DelayConfig, DelayQueue, Error, ErrorKind, OnceStore,
    PriorityConfig, PriorityQueue, QueueConfig, QueueKind, QueueName, ReliableConfig,
    ReliableQueue, Result, RotatingConfig, RotatingQueue,
};

/// Opens queues by name, creating them where they do not exist.
///
/// A name is one queue of one kind. The first open stores the configuration; a later one that
/// differs, or asks for another kind, is
/// [`ConfigMismatch`](crate::ErrorKind::ConfigMismatch), naming both values. Handles to one name
/// are handles to one queue.
///
/// A backend implements [`open`](Self::open) and [`queues`](Self::queues), and
/// [`open_or_resize`](Self::open_or_resize) and [`open_once`](Self::open_once) if it has bounded
/// queues and stores of once keys. The open of each kind is there for callers.
///
/// # Errors
///
/// Every open answers `Invalid` for a configuration beyond the limits, `ConfigMismatch`, and
/// `Configuration` for what the backend does not have.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// Opens a queue of the kind that the configuration is for. For a kind that it does not have, a
    /// backend answers [`QueueKind::missing`].
    ///
    /// Once a bounded queue's capacity has been changed by [`resize`](BoundedQueue::resize), the
    /// stored one wins and is not compared.
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue>;

    /// Opens a reliable queue, by [`open`](Self::open).
    async fn open_reliable(
        &self,
        name: &QueueName,
        config: &ReliableConfig,
    ) -> Result<Arc<dyn ReliableQueue>> {
        match self.open(name, &config.clone().into()).await? {
            AnyQueue::Reliable(queue) => Ok(queue),
            other => Err(another_kind(name, QueueKind::Reliable, &other)),
        }
    }

    /// Opens a delay queue, by [`open`](Self::open).
    async fn open_delay(
        &self,
        name: &QueueName,
        config: &DelayConfig,
    ) -> Result<Arc<dyn DelayQueue>> {
        match self.open(name, &config.clone().into()).await? {
            AnyQueue::Delay(queue) => Ok(queue),
            other => Err(another_kind(name, QueueKind::Delay, &other)),
        }
    }

    /// Opens a priority queue, by [`open`](Self::open).
    async fn open_priority(
        &self,
        name: &QueueName,
        config: &PriorityConfig,
    ) -> Result<Arc<dyn PriorityQueue>> {
        match self.open(name, &config.clone().into()).await? {
            AnyQueue::Priority(queue) => Ok(queue),
            other => Err(another_kind(name, QueueKind::Priority, &other)),
        }
    }

    /// Opens a bounded queue, by [`open`](Self::open).
    async fn open_bounded(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        match self.open(name, &config.clone().into()).await? {
            AnyQueue::Bounded(queue) => Ok(queue),
            other => Err(another_kind(name, QueueKind::Bounded, &other)),
        }
    }

    /// Opens a rotating queue, by [`open`](Self::open).
    async fn open_rotating(
        &self,
        name: &QueueName,
        config: &RotatingConfig,
    ) -> Result<Arc<dyn RotatingQueue>> {
        match self.open(name, &config.clone().into()).await? {
            AnyQueue::Rotating(queue) => Ok(queue),
            other => Err(another_kind(name, QueueKind::Rotating, &other)),
        }
    }

    /// Opens a bounded queue and gives it this capacity, as [`resize`](BoundedQueue::resize) does
    /// if the stored one differs: for those whose length comes from a configuration service.
    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let _ = config;
        Err(QueueKind::Bounded.missing(name))
    }

    /// Opens a store of once keys. It has no configuration; every later open of the name is the
    /// same store. A store is no queue: it may have the name of one, and is not listed among them.
    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let message = "this backend has no stores of once keys";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// What exists: up to `limit` queues whose names come after `after`, by name.
    ///
    /// # Errors
    ///
    /// `Invalid` if `limit` is over 1,000.
    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>>;
}

/// A backend that opens another queue than it was asked for.
fn another_kind(name: &QueueName, asked: QueueKind, opened: &AnyQueue) -> Error {
    let message = format!(
        "the backend opened a {} queue for a {asked} one",
        opened.kind()
    );
    Error::new(ErrorKind::Internal, message).with_queue(name)
}

/// A queue that exists.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueueInfo {
    /// Its name.
    pub name: QueueName,
    /// Its kind.
    pub kind: QueueKind,
}
