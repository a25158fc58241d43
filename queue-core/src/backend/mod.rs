//! The trait that opens queues, what its queues have and keep, and layers in front of them.

mod guarantees;
mod layer;
mod removal;

use std::{fmt::Debug, num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use self::{
    guarantees::{Caveat, Condition, Feature, Guarantees},
    layer::{Layer, Layered, Step},
    removal::Removal,
};
use crate::{
    AnyQueue, BoundedConfig, BoundedQueue, Confirmation, DelayConfig, DelayQueue, Depth, Error,
    ErrorKind, OnceStore, PriorityConfig, PriorityQueue, QueueConfig, QueueKind, QueueName,
    ReliableConfig, ReliableQueue, Result, RotatingConfig, RotatingQueue,
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
/// Every open answers `Invalid` for a configuration beyond the limits, `ConfigMismatch` for one
/// that differs from the stored one, and `Configuration` for a kind that the backend lacks.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// Opens a queue of the configuration's kind. A backend that lacks the kind answers
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

    /// Opens a bounded queue and, if its stored capacity differs, [`resize`](BoundedQueue::resize)s
    /// it to this one. It serves programs whose length comes from a configuration service.
    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let _ = config;
        Err(QueueKind::Bounded.missing(name))
    }

    /// Opens a queue, creating it where it does not exist, and [`reconfigure`](Self::reconfigure)s it if its stored
    /// configuration is another one; a bounded queue gets the capacity, too. It serves programs whose
    /// configuration changes with a release: open handles go on, and a program of an earlier release that starts
    /// afterwards and opens the queue by [`open`](Self::open) is refused.
    ///
    /// If the call fails half-way or its future is dropped, the configuration is either one, and the
    /// caller may repeat the call. While two programs with different configurations do this at the same time, one
    /// may be answered `ConfigMismatch`.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open) and of [`reconfigure`](Self::reconfigure): another kind is a `ConfigMismatch`.
    async fn open_or_reconfigure(
        &self,
        name: &QueueName,
        config: &QueueConfig,
    ) -> Result<AnyQueue> {
        open_or_reconfigure(self, name, config).await
    }

    /// Opens the queue of this name, of whatever kind, with its stored configuration: for a tool that
    /// did not make it. It creates nothing, and answers `None` if there is no such queue. The
    /// handle's own limit on bodies is the default one.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch` if another version stored the queue, and the backend's.
    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let message = "this backend opens no queue as it is stored: open it with its configuration";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// Removes the queue of this name, of whatever kind, with all that it holds: messages, dead
    /// letters, dedup marks, counters and configuration. Answers whether there was anything to
    /// remove. A store of once keys that has this name stays.
    ///
    /// The queue goes in one step. Waiting callers are told to look. The name is free from then on,
    /// for any kind and configuration, and the next queue has a history of its own (R1): its ids
    /// count from 1, and receipts of this one match nothing.
    ///
    /// Handles that are open go on: the next call of one makes the queue anew, empty, as its open
    /// would. So end the queue's producers and consumers first. A dropped future may have removed the
    /// queue or not; to repeat the call is safe, and finishes what a crash left.
    ///
    /// # Errors
    ///
    /// [`InUse`](ErrorKind::InUse) if messages are leased, unless the caller says
    /// [`EvenIfLeased`](Removal::EvenIfLeased); `ConfigMismatch` if another version stored the queue;
    /// `Configuration` if the backend removes no queues; and the backend's.
    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let _ = removal;
        let message = "this backend removes no queues";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// Changes the stored configuration of an existing queue. Open handles go on, by the new one.
    /// Answers whether there is such a queue; it creates none.
    ///
    /// From then on the new values hold: attempts at the next failure or expiry, the cap of the dead
    /// letters at once (the oldest beyond it are trimmed, at most 128 in a step), a bounded queue's
    /// capacity as by [`resize`](BoundedQueue::resize), whose dropped messages this does not answer.
    /// With another pace each item of a ring is due, in its place. The limit on bodies is no part of
    /// it. Restart programs with the new configuration: an open with the old one is a
    /// `ConfigMismatch`.
    ///
    /// If the call fails half-way or its future is dropped, the configuration is either one, and the
    /// caller may repeat the call.
    ///
    /// # Errors
    ///
    /// `ConfigMismatch` for another kind. `Invalid` for a bad value, for another ageing while a
    /// message is ready, and for another pace of a ring of more than 10,000 items.
    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let _ = config;
        let message = "this backend changes no stored configuration: use another name";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// Opens a store of once keys. It has no configuration; every later open of the name gives the
    /// same store. A store is no queue: it may share a queue's name, and [`queues`](Self::queues)
    /// does not list it.
    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let message = "this backend has no stores of once keys";
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// The same queues through handles that confirm (R2): [`confirmed`](crate::LeasingExt::confirmed) of
    /// one makes a call, and answers whether what it changed has as many copies as this asks for. All
    /// other handles go on as they are, and wait for nobody.
    ///
    /// # Errors
    ///
    /// `Invalid` for a confirmation that asks for nothing. `Configuration` if the backend keeps no copies
    /// (as in memory), or its server cannot tell of them; and the backend's.
    async fn confirmed(&self, confirmation: Confirmation) -> Result<Arc<dyn Backend>> {
        confirmation.check()?;
        let message = format!(
            "this backend keeps no copies, so nothing is ever {confirmation}: use one that has \
             replicas or a disk, or push without a confirmation"
        );
        Err(Error::new(ErrorKind::Configuration, message))
    }

    /// What its queues of this kind have, and which rules they keep: by default everything.
    fn guarantees(&self, kind: QueueKind) -> Guarantees {
        Guarantees::all("default", kind)
    }

    /// What an operator should know of the setup, though the backend serves with it: a server that
    /// keeps nothing on disk, say. One sentence each; none by default.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Lists up to `limit` existing queues whose names come after `after`, by name, each with its
    /// depth.
    ///
    /// A page is no snapshot: the backend reads the depth of one queue after that of another. To
    /// list a queue never makes it anew.
    ///
    /// # Errors
    ///
    /// `Invalid` if `limit` is over 1,000. A queue that the backend cannot read is no error, see
    /// [`QueueInfo::state`].
    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>>;
}

/// How often an open is tried before somebody else's configuration is told.
const TRIES: usize = 3;

/// What [`Backend::open_or_reconfigure`] does, by the other methods of the backend.
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
                // If the queue is gone meanwhile, the next open makes it.
                backend.reconfigure(name, config).await?;
            }
            opened => return opened,
        }
    }
}

/// The backend opened a queue of another kind than the caller asked for.
pub(crate) fn another_kind(name: &QueueName, asked: QueueKind, opened: &AnyQueue) -> Error {
    let message = format!(
        "the backend opened a {} queue for a {asked} one",
        opened.kind()
    );
    Error::new(ErrorKind::Internal, message).with_queue(name)
}

/// A queue that exists.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueueInfo {
    /// Its name.
    pub name: QueueName,
    /// Its kind.
    pub kind: QueueKind,
    /// What it holds; `None` if the backend cannot read it, since it is damaged or another
    /// version wrote it. Opening it says why.
    pub state: Option<QueueState>,
}

/// What a queue holds, and whether it hands out messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct QueueState {
    /// How many messages it has in each place. A ring's items all count as ready.
    pub depth: Depth,
    /// Whether an operator has paused it.
    pub paused: bool,
}

impl QueueState {
    /// Reads the state of a queue.
    ///
    /// # Errors
    ///
    /// Those of [`counters`](crate::Leasing::counters), and of a ring's
    /// [`len`](crate::RotatingQueue::len).
    pub async fn of(queue: &AnyQueue) -> Result<Self> {
        let counters = match queue {
            AnyQueue::Reliable(queue) => queue.counters().await?,
            AnyQueue::Delay(queue) => queue.counters().await?,
            AnyQueue::Priority(queue) => queue.counters().await?,
            AnyQueue::Bounded(queue) => queue.counters().await?,
            AnyQueue::Rotating(ring) => {
                let mut state = Self::default();
                state.depth.ready = ring.len().await?;
                return Ok(state);
            }
        };
        Ok(Self {
            depth: counters.depth,
            paused: counters.paused,
        })
    }
}

/// A queue as it is stored.
#[derive(Debug, Clone)]
pub struct StoredQueue {
    /// The stored configuration. A bounded queue's capacity is the one in force.
    pub config: QueueConfig,
    /// The queue.
    pub queue: AnyQueue,
}
