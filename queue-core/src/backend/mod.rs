//! The trait that opens queues, and what its queues have and keep.

mod facts;
mod guarantees;
mod layered;
mod removal;

use std::{fmt::Debug, num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use self::{
    facts::{Denied, Facts, FolderFacts, ServerFacts, SyncFacts},
    guarantees::{Caveat, Condition, Feature, Guarantees},
    layered::Layered,
    removal::Removal,
};
use crate::{
    AnyQueue, BoundedConfig, BoundedQueue, Confirmation, Counters, DelayConfig, DelayQueue, Error,
    ErrorKind, GroupedConfig, GroupedQueue, OnceStore, PriorityConfig, PriorityQueue, QueueConfig,
    QueueKind, QueueName, ReliableConfig, ReliableQueue, Result, RotatingConfig, RotatingQueue,
    Timestamp,
};

/// Opens queues by name, creating them where they do not exist.
///
/// A name is one queue of one kind. The first open stores the configuration. A later open that
/// differs, or asks for another kind, fails with
/// [`ConfigMismatch`](crate::ErrorKind::ConfigMismatch), which names both values. All handles to
/// one name share one queue.
///
/// A backend implements [`open`](Self::open) and [`queues`](Self::queues), and
/// [`open_or_resize`](Self::open_or_resize) and [`open_once`](Self::open_once) if it has bounded
/// queues and stores of once keys, and [`remove`](Self::remove) if queues can be removed. The opens
/// of single kinds are for callers.
///
/// # Errors
///
/// Every open returns `Invalid` for a configuration beyond the limits, `ConfigMismatch` for one that differs
/// from the stored one, and `Configuration` for a kind that the backend lacks.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// Opens a queue of the configuration's kind. A backend that lacks the kind returns
    /// [`QueueKind::missing`].
    ///
    /// After a [`resize`](BoundedQueue::resize), the stored capacity wins and an open does not
    /// compare it.
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

    /// Opens a grouped queue, by [`open`](Self::open).
    async fn open_grouped(
        &self,
        name: &QueueName,
        config: &GroupedConfig,
    ) -> Result<Arc<dyn GroupedQueue>> {
        match self.open(name, &config.clone().into()).await? {
            AnyQueue::Grouped(queue) => Ok(queue),
            other => Err(another_kind(name, QueueKind::Grouped, &other)),
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

    /// Opens a bounded queue and, if its stored capacity differs, [`resize`](BoundedQueue::resize)s it to
    /// that of `config`. It serves programs whose capacity comes from a configuration service.
    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let _ = config;
        Err(QueueKind::Bounded.missing(name))
    }

    /// Opens a queue, creating it where it does not exist, and [`reconfigure`](Self::reconfigure)s it if its
    /// stored configuration differs; a bounded queue gets the capacity, too. It serves programs whose
    /// configuration changes with a release: open handles go on. A program of an earlier release that starts
    /// afterwards and calls [`open`](Self::open) is refused.
    ///
    /// If the call fails half-way or its future is dropped, the stored configuration is the old or the new
    /// one, and the caller may repeat the call. If two programs with different configurations make the call
    /// at the same time, one may get `ConfigMismatch`.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open) and of [`reconfigure`](Self::reconfigure): another kind is a
    /// `ConfigMismatch`.
    async fn open_or_reconfigure(
        &self,
        name: &QueueName,
        config: &QueueConfig,
    ) -> Result<AnyQueue> {
        open_or_reconfigure(self, name, config).await
    }

    /// Opens the queue of this name, of any kind, with its stored configuration: for a tool that did not
    /// create the queue. It creates nothing, and returns `None` if there is no such queue. The handle has the
    /// default limit on bodies.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch` if another version stored the queue, and errors of the backend.
    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let message =
            "this backend cannot open a queue as it is stored: open it with its configuration";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// Removes the queue of this name, of any kind, with all that it holds: messages, dead letters, dedup
    /// marks, counters and configuration. Returns true if there was anything to remove. A store of once keys
    /// that has this name stays.
    ///
    /// The queue is removed in one step. Waiting callers are woken. The name is free from then on, for any
    /// kind and configuration. The next queue has a history of its own (R1): its ids count from 1, and
    /// receipts of the removed queue match nothing.
    ///
    /// Open handles go on: the next call of such a handle creates the queue again, empty, as its open would.
    /// So end the queue's producers and consumers first. A dropped future may or may not have removed the
    /// queue; repeating the call is safe, and removes what a crash left.
    ///
    /// # Errors
    ///
    /// [`InUse`](ErrorKind::InUse) if messages are leased, unless the caller says
    /// [`EvenIfLeased`](Removal::EvenIfLeased); `ConfigMismatch` if another version stored the queue;
    /// `Configuration` if the backend removes no queues; and errors of the backend.
    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let _ = removal;
        let message = "this backend cannot remove queues";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// Changes the stored configuration of an existing queue. Open handles go on, with the new configuration.
    /// Returns true if there is such a queue; it creates none.
    ///
    /// The new number of attempts applies at the next failure or expiry. The new cap of the dead letters
    /// applies at once: the oldest beyond it are trimmed, at most 128 in a step. A bounded queue's capacity
    /// changes as by [`resize`](BoundedQueue::resize), but the ids of dropped messages are not returned. With
    /// another pace each item of a ring is due, in its place. The limit on bodies is not stored. Restart
    /// programs with the new configuration: an open with the old one is a `ConfigMismatch`.
    ///
    /// If the call fails half-way or its future is dropped, the stored configuration is the old or the new
    /// one, and the caller may repeat the call.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch` for another kind. `Invalid` for a bad value, for another ageing while a
    /// message is ready, and for another pace of a ring of more than 10,000 items.
    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let _ = config;
        let message = "this backend cannot change a stored configuration: use another name";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// Opens a store of once keys. It has no configuration; every later open of the name gives the
    /// same store. A store is no queue: it may share a queue's name, and [`queues`](Self::queues)
    /// does not list it.
    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let message = "this backend has no stores of once keys";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// The same queues through handles that confirm (R2). Their [`confirmed`](crate::LeasingExt::confirmed)
    /// makes a call, and returns whether its changes have as many copies as `confirmation` asks for. All
    /// other handles go on as they are, and wait for nobody.
    ///
    /// # Errors
    ///
    /// `Invalid` for a confirmation that asks for nothing. `Configuration` if the backend keeps no copies (as
    /// in memory), or its server cannot report them; and errors of the backend.
    async fn confirmed(&self, confirmation: Confirmation) -> Result<Arc<dyn Backend>> {
        confirmation.check()?;
        let message = format!(
            "this backend keeps no copies, so nothing is ever {confirmation}: use one that has \
             replicas or a disk, or push without a confirmation"
        );
        Err(Error::new(ErrorKind::Configuration, message))
    }

    /// The backend's time, by which its leases end and its messages become due. A scheduler uses it, so that no
    /// program's clock matters.
    ///
    /// # Errors
    ///
    /// `Configuration` if the backend does not tell its time; and errors of the backend.
    async fn now(&self) -> Result<Timestamp> {
        let message = "this backend does not tell its time, by which schedules go";
        Err(Error::new(ErrorKind::Configuration, message))
    }

    /// Facts about a queue and its server that calls do not show, for operators: waiting consumers, refused writes.
    /// Changes nothing, and reads a bounded amount. The default knows nothing.
    ///
    /// # Errors
    ///
    /// Errors of the server or the connection.
    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let _ = name;
        Ok(Facts::default())
    }

    /// The [`facts`](Self::facts) of several queues, in their order. A backend may read once what it knows of the server
    /// of several. The default reads one queue after another.
    async fn facts_of_each(&self, names: &[QueueName]) -> Vec<Result<Facts>> {
        let mut facts = Vec::with_capacity(names.len());
        for name in names {
            facts.push(self.facts(name).await);
        }
        facts
    }

    /// The calls that its queues of this kind have, and the rules that they keep: by default all.
    fn guarantees(&self, kind: QueueKind) -> Guarantees {
        Guarantees::all("default", kind)
    }

    /// Warnings for an operator about a setup that works all the same: a server that stores nothing on disk,
    /// say. One sentence each; none by default.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Lists up to `limit` existing queues whose names come after `after`, by name, each with its
    /// counters.
    ///
    /// A page is no snapshot: the backend reads one queue after another. Listing never creates a
    /// queue.
    ///
    /// # Errors
    ///
    /// `Invalid` if `limit` is over 1,000. A queue that the backend cannot read is no error, see
    /// [`QueueInfo::counters`].
    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>>;
}

/// How often an open is tried before its `ConfigMismatch` is returned.
const TRIES: usize = 3;

/// The body of [`Backend::open_or_reconfigure`], by the other methods of the backend.
pub(crate) async fn open_or_reconfigure<B: Backend + ?Sized>(
    backend: &B,
    name: &QueueName,
    config: &QueueConfig,
) -> Result<AnyQueue> {
    let mut left = TRIES;
    loop {
        let opened = match config {
            QueueConfig::Bounded(config) => {
                backend.open_or_resize(name, config).await.map(Into::into)
            }
            config => backend.open(name, config).await,
        };
        match opened {
            Err(error) if error.kind() == ErrorKind::ConfigMismatch && left > 0 => {
                left -= 1;
                // If the queue was removed meanwhile, the next open creates it.
                backend.reconfigure(name, config).await?;
            }
            opened => return opened,
        }
    }
}

/// The error for a backend that opened a queue of another kind than the caller asked for.
pub(crate) fn another_kind(name: &QueueName, asked: QueueKind, opened: &AnyQueue) -> Error {
    let message = format!(
        "the backend opened a {} queue for a {asked} one",
        opened.kind()
    );
    Error::new(ErrorKind::Internal, message).with_queue(name)
}

/// A queue that exists.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QueueInfo {
    /// Its name.
    pub name: QueueName,
    /// Its kind.
    pub kind: QueueKind,
    /// Its counters, see [`AnyQueue::counters`]; `None` if the backend cannot read the queue, because it is damaged or
    /// another version wrote it. Opening the queue returns the reason.
    pub counters: Option<Counters>,
}

/// A queue as it is stored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoredQueue {
    /// The stored configuration. A bounded queue's capacity is its current one.
    pub config: QueueConfig,
    /// The queue.
    pub queue: AnyQueue,
}

impl QueueInfo {
    /// A queue of this kind; `counters` is `None` if the backend cannot read the queue.
    pub const fn new(name: QueueName, kind: QueueKind, counters: Option<Counters>) -> Self {
        Self {
            name,
            kind,
            counters,
        }
    }
}

impl StoredQueue {
    /// A queue, and its stored configuration.
    pub const fn new(config: QueueConfig, queue: AnyQueue) -> Self {
        Self { config, queue }
    }
}
