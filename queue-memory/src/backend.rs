//! The backend: its queues and stores, by name.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt::Debug,
    num::NonZeroUsize,
    ops::Bound::{Excluded, Unbounded},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, OnceStore, QueueConfig, QueueInfo, QueueKind,
    QueueName, QueueState, Result, StoredQueue, Timestamp, config_mismatch, limits,
};

use crate::{
    clock::Clock,
    handle::{Handle, OnceHandle, Queue},
    state::{Bounded, Delay, Openable, Priority, Reliable, Ring, State},
};

/// Opens queues in this process's memory. Clones share the queues; two backends from
/// [`new`](Self::new) share nothing.
///
/// A queue, or a store of once keys, lives as long as its backend or a handle to it.
#[derive(Debug, Clone, Default)]
pub struct MemoryBackend(Arc<Registry>);

impl MemoryBackend {
    /// A backend without queues.
    pub fn new() -> Self {
        Self::default()
    }

    /// A backend without queues whose clock shows this time now, so that a test or a simulation is
    /// the same whenever it runs.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> queue_core::Result<()> {
    /// use std::time::Duration;
    /// use queue_core::{Backend, LeasingExt, ReliableQueueExt, Timestamp};
    /// use queue_memory::MemoryBackend;
    ///
    /// let backend = MemoryBackend::starting_at(Timestamp::from_millis(1_000));
    /// let queue = backend.open_reliable(&"jobs".parse()?, &Default::default()).await?;
    /// queue.push_one("a").await?;
    /// let delivery = queue.receive_one(Duration::from_secs(1), Duration::ZERO).await?.unwrap();
    /// assert_eq!(delivery.receipt.token.get(), 1_000_000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn starting_at(now: Timestamp) -> Self {
        Self(Arc::new(Registry {
            clock: Clock::showing(now),
            queues: Mutex::default(),
            once: Mutex::default(),
        }))
    }
}

#[derive(Debug)]
struct Registry {
    clock: Clock,
    queues: Mutex<BTreeMap<QueueName, Opened>>,
    once: Mutex<BTreeMap<QueueName, Arc<OnceHandle>>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            clock: Clock::start(),
            queues: Mutex::default(),
            once: Mutex::default(),
        }
    }
}

#[derive(Debug)]
struct Opened {
    kind: QueueKind,
    queue: Arc<dyn Registered>,
}

/// A `Queue` of any kind's state.
trait Registered: Any + Debug + Send + Sync {
    fn kind(&self) -> QueueKind;

    /// Opens it as it is.
    fn stored(self: Arc<Self>) -> Result<StoredQueue>;
}

impl<S: Opens> Registered for Queue<S> {
    fn kind(&self) -> QueueKind {
        S::KIND
    }

    fn stored(self: Arc<Self>) -> Result<StoredQueue> {
        let config: QueueConfig = self.without_waking(|state| state.config().clone().into())?;
        let config = config.with_max_body(limits::DEFAULT_MAX_BODY);
        let queue = S::handle(Handle::new(&self, limits::DEFAULT_MAX_BODY));
        Ok(StoredQueue { config, queue })
    }
}

/// A state whose handles are queues of a kind.
trait Opens: Openable {
    fn handle(handle: Handle<Self>) -> AnyQueue
    where
        Self: Sized;
}

macro_rules! opens {
    ($($kind:ident: $state:ty;)*) => {
        $(impl Opens for $state {
            fn handle(handle: Handle<Self>) -> AnyQueue {
                AnyQueue::$kind(Arc::new(handle))
            }
        })*
    };
}

opens! {
    Reliable: State<Reliable>;
    Delay: State<Delay>;
    Priority: State<Priority>;
    Bounded: State<Bounded>;
    Rotating: Ring;
}

impl Registry {
    fn queue(&self, name: &QueueName) -> Option<Arc<dyn Registered>> {
        let queues = self.lock();
        queues.get(name).map(|opened| Arc::clone(&opened.queue))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueName, Opened>> {
        // Nothing panics between two changes of the map, so it is consistent.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open<S: Opens>(
        &self,
        name: &QueueName,
        config: &S::Config,
        agrees: impl FnOnce(&S) -> Result<()>,
    ) -> Result<Arc<Queue<S>>> {
        S::check(config)?;
        let mut queues = self.lock();
        if let Some(opened) = queues.get(name) {
            let queue = Arc::clone(&opened.queue) as Arc<dyn Any + Send + Sync>;
            let Ok(queue) = queue.downcast::<Queue<S>>() else {
                return Err(config_mismatch("kind", opened.kind, S::KIND));
            };
            queue.without_waking(|state| agrees(state))??;
            return Ok(queue);
        }
        let queue = Queue::new(name.clone(), S::KIND, self.clock, S::create(config));
        let queue = Arc::new(queue);
        let opened = Opened {
            kind: S::KIND,
            queue: Arc::clone(&queue) as Arc<dyn Registered>,
        };
        queues.insert(name.clone(), opened);
        Ok(queue)
    }
}

impl MemoryBackend {
    fn change<S: Opens>(&self, name: &QueueName, config: &S::Config) -> Result<bool> {
        S::check(config)?;
        let Some(queue) = self.0.queue(name) else {
            return Ok(false);
        };
        let kind = queue.kind();
        let queue = queue as Arc<dyn Any + Send + Sync>;
        let Ok(queue) = queue.downcast::<Queue<S>>() else {
            return Err(config_mismatch("kind", kind, S::KIND));
        };
        queue.call(|state, now| state.reconfigure(now, config))??;
        Ok(true)
    }

    fn handle<S: Opens>(
        &self,
        name: &QueueName,
        config: &S::Config,
        max_body: usize,
    ) -> Result<AnyQueue> {
        let agrees = |state: &S| state.agrees(config);
        let queue = self.0.open(name, config, agrees);
        let queue = queue.map_err(|error| error.with_queue(name))?;
        Ok(S::handle(Handle::new(&queue, max_body)))
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        match config {
            QueueConfig::Reliable(config) => {
                self.handle::<State<Reliable>>(name, config, config.leasing.max_body)
            }
            QueueConfig::Delay(config) => {
                self.handle::<State<Delay>>(name, config, config.leasing.max_body)
            }
            QueueConfig::Priority(config) => {
                self.handle::<State<Priority>>(name, config, config.leasing.max_body)
            }
            QueueConfig::Bounded(config) => {
                self.handle::<State<Bounded>>(name, config, config.leasing.max_body)
            }
            QueueConfig::Rotating(config) => self.handle::<Ring>(name, config, config.max_body),
        }
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let agrees = |state: &State<Bounded>| state.agrees_but_for_capacity(config);
        let queue = self.0.open(name, config, agrees);
        let queue = queue.map_err(|error| error.with_queue(name))?;
        queue.call(|state, now| state.ensure_capacity(now, config.capacity))?;
        Ok(Arc::new(Handle::new(&queue, config.leasing.max_body)))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let changed = match config {
            QueueConfig::Reliable(config) => self.change::<State<Reliable>>(name, config),
            QueueConfig::Delay(config) => self.change::<State<Delay>>(name, config),
            QueueConfig::Priority(config) => self.change::<State<Priority>>(name, config),
            QueueConfig::Bounded(config) => self.change::<State<Bounded>>(name, config),
            QueueConfig::Rotating(config) => self.change::<Ring>(name, config),
        };
        changed.map_err(|error| error.with_queue(name))
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let queue = self.0.queue(name);
        queue.map(Registered::stored).transpose()
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let new = || Arc::new(OnceHandle::new(name.clone(), self.0.clock));
        let mut stores = self.0.once.lock().unwrap_or_else(PoisonError::into_inner);
        let store = stores.entry(name.clone()).or_insert_with(new);
        Ok(Arc::clone(store) as Arc<dyn OnceStore>)
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        let start = after.map_or(Unbounded, Excluded);
        let page: Vec<_> = {
            let queues = self.0.lock();
            let rest = queues.range::<QueueName, _>((start, Unbounded));
            let queue = |(name, opened): (&QueueName, &Opened)| {
                (name.clone(), opened.kind, Arc::clone(&opened.queue))
            };
            rest.take(limit.get()).map(queue).collect()
        };
        let mut infos = Vec::with_capacity(page.len());
        for (name, kind, queue) in page {
            // A queue that a panic has left half-way must not hide the others.
            let state = match queue.stored() {
                Ok(stored) => QueueState::of(&stored.queue).await.ok(),
                Err(_) => None,
            };
            infos.push(QueueInfo { name, kind, state });
        }
        Ok(infos)
    }
}
