//! What opens queues.

use std::{
    fmt::{self, Debug},
    num::NonZeroUsize,
    sync::Arc,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    BoundedConfig, BoundedQueue, DelayConfig, DelayQueue, Error, ErrorKind, OnceStore,
    PriorityConfig, PriorityQueue, QueueName, ReliableConfig, ReliableQueue, Result,
    RotatingConfig, RotatingQueue,
};

/// Opens queues by name, creating them where they do not exist.
///
/// A name is one queue of one kind. The first open stores the configuration; a later one that
/// differs, or asks for another kind, is
/// [`ConfigMismatch`](crate::ErrorKind::ConfigMismatch), naming both values. Handles to one name
/// are handles to one queue.
///
/// The bodies given here are for what the backend does not have: implement the opens of what it
/// has, and `queues`. One that wraps another has to pass all of them on.
///
/// # Errors
///
/// Every open answers `Invalid` for a configuration beyond the limits, `ConfigMismatch`, and
/// `Configuration` for what the backend does not have.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// Opens a reliable queue.
    async fn open_reliable(
        &self,
        name: &QueueName,
        config: &ReliableConfig,
    ) -> Result<Arc<dyn ReliableQueue>> {
        let _ = config;
        Err(QueueKind::Reliable.missing(name))
    }

    /// Opens a delay queue.
    async fn open_delay(
        &self,
        name: &QueueName,
        config: &DelayConfig,
    ) -> Result<Arc<dyn DelayQueue>> {
        let _ = config;
        Err(QueueKind::Delay.missing(name))
    }

    /// Opens a priority queue.
    async fn open_priority(
        &self,
        name: &QueueName,
        config: &PriorityConfig,
    ) -> Result<Arc<dyn PriorityQueue>> {
        let _ = config;
        Err(QueueKind::Priority.missing(name))
    }

    /// Opens a bounded queue. Once its capacity has been changed by
    /// [`resize`](BoundedQueue::resize), the stored one wins and is not compared.
    async fn open_bounded(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let _ = config;
        Err(QueueKind::Bounded.missing(name))
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

    /// Opens a rotating queue.
    async fn open_rotating(
        &self,
        name: &QueueName,
        config: &RotatingConfig,
    ) -> Result<Arc<dyn RotatingQueue>> {
        let _ = config;
        Err(QueueKind::Rotating.missing(name))
    }

    /// Opens a store of once keys. It has no configuration; every later open of the name is the
    /// same store. A store is no queue: it may have the name of one, and is not listed among them.
    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        Err(missing("stores of once keys", name))
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

fn missing(what: &str, name: &QueueName) -> Error {
    let message = format!("this backend has no {what}");
    Error::new(ErrorKind::Configuration, message).with_queue(name)
}

/// A queue that exists.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueueInfo {
    /// Its name.
    pub name: QueueName,
    /// Its kind.
    pub kind: QueueKind,
}

/// The five kinds of queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueueKind {
    /// First in, first out.
    Reliable,
    /// Each message at its due time.
    Delay,
    /// The most urgent first.
    Priority,
    /// A fixed length.
    Bounded,
    /// A ring.
    Rotating,
}

impl QueueKind {
    /// All five.
    pub const ALL: [Self; 5] = [
        Self::Reliable,
        Self::Delay,
        Self::Priority,
        Self::Bounded,
        Self::Rotating,
    ];

    /// The kind's name, in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Delay => "delay",
            Self::Priority => "priority",
            Self::Bounded => "bounded",
            Self::Rotating => "rotating",
        }
    }

    fn missing(self, name: &QueueName) -> Error {
        missing(&format!("{self} queues"), name)
    }
}

impl fmt::Display for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
