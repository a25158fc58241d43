//! The backend: its queues and stores, by name.

#[cfg(feature = "journal")]
mod saving;

use std::{
    any::Any,
    collections::BTreeMap,
    fmt::{self, Debug},
    num::NonZeroUsize,
    ops::{
        Bound::{Excluded, Unbounded},
        ControlFlow,
    },
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Error, ErrorKind, Facts, OnceStore,
    QueueConfig, QueueInfo, QueueKind, QueueName, Removal, Result, StoredQueue, Timestamp,
    config_mismatch, limits,
};

use crate::{
    clock::MemoryClock,
    handle::{ByKind, Handle, Home, OnceHandle, Opens, QueueHandle, by_kind},
    state::{Bounded, LeasingState},
};

/// Opens queues in this process's memory. Clones share the queues; two backends from
/// [`new`](Self::new) share nothing.
///
/// Queues and stores of once keys live as long as the backend or a handle to one of its queues; a
/// removed queue's memory is free at once.
#[derive(Debug, Clone, Default)]
pub struct MemoryBackend(Arc<Registry>);

impl MemoryBackend {
    /// A backend without queues.
    pub fn new() -> Self {
        Self::default()
    }

    /// A backend without queues whose clock shows `time` now, so that a test or a simulation can be repeated
    /// exactly.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> queue_core::Result<()> {
    /// use std::time::Duration;
    /// use queue_core::{Backend, LeasingExt, Timestamp};
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
            clock: MemoryClock::showing(now),
            queues: Mutex::default(),
            once: Mutex::default(),
        }))
    }
}

#[derive(Debug)]
struct Registry {
    clock: MemoryClock,
    queues: Mutex<BTreeMap<QueueName, Arc<dyn RegisteredQueue>>>,
    once: Mutex<BTreeMap<QueueName, Arc<OnceHandle>>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            clock: MemoryClock::start(),
            queues: Mutex::default(),
            once: Mutex::default(),
        }
    }
}

/// A `Queue` of any kind's state.
trait RegisteredQueue: Any + Debug + Send + Sync {
    fn kind(&self) -> QueueKind;

    /// Opens the queue as it is stored.
    fn stored(self: Arc<Self>, registry: &Arc<Registry>) -> Result<StoredQueue>;

    /// A handle that does not create the queue again after a removal.
    fn looked_at(self: Arc<Self>) -> AnyQueue;

    /// The numbers of callers that wait for messages, and for room.
    fn waiting(&self) -> Result<(u64, u64)>;

    /// Removes the queue; returns the work that is left for when no lock is held.
    fn end(&self, removal: Removal) -> Result<Box<dyn FnOnce() + Send>>;

    #[cfg(feature = "journal")]
    fn as_saved(&self) -> &dyn saving::Saved;
}

impl<S: Opens> RegisteredQueue for QueueHandle<S> {
    fn kind(&self) -> QueueKind {
        S::KIND
    }

    fn stored(self: Arc<Self>, registry: &Arc<Registry>) -> Result<StoredQueue> {
        let config = self.read(|state| state.config().clone())?;
        let handle = registry.handle_to(self, &config, limits::DEFAULT_MAX_BODY);
        let queue = S::handle(handle);
        let config: QueueConfig = config.into();
        let config = config.with_max_body(limits::DEFAULT_MAX_BODY);
        Ok(StoredQueue::new(config, queue))
    }

    fn looked_at(self: Arc<Self>) -> AnyQueue {
        S::handle(Handle::new(
            self,
            limits::DEFAULT_MAX_BODY,
            Arc::new(Nowhere),
        ))
    }

    fn waiting(&self) -> Result<(u64, u64)> {
        // The type's own method of this name, not the trait's.
        Self::waiting(self)
    }

    fn end(&self, removal: Removal) -> Result<Box<dyn FnOnce() + Send>> {
        // The type's own method of this name, not the trait's.
        Self::end(self, removal)
    }

    #[cfg(feature = "journal")]
    fn as_saved(&self) -> &dyn saving::Saved {
        self
    }
}

/// How a handle finds its queue again: the name among the backend's names, and the configuration that the
/// handle was opened with.
struct QueueSlot<S: Opens> {
    registry: Arc<Registry>,
    name: QueueName,
    config: S::Config,
}

impl<S: Opens> Home<S> for QueueSlot<S> {
    fn queue(&self) -> Result<Arc<QueueHandle<S>>> {
        // An open handle uses the stored configuration, even if its own differs.
        self.registry.open(&self.name, &self.config, |_| Ok(()))
    }
}

impl<S: Opens> Debug for QueueSlot<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The place of a handle that never creates its queue again: after a removal it finds none.
#[derive(Debug)]
struct Nowhere;

impl<S> Home<S> for Nowhere {
    fn queue(&self) -> Result<Arc<QueueHandle<S>>> {
        Err(Error::new(
            ErrorKind::Configuration,
            "the queue was removed",
        ))
    }
}

impl Registry {
    fn queue(&self, name: &QueueName) -> Option<Arc<dyn RegisteredQueue>> {
        self.lock().get(name).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueName, Arc<dyn RegisteredQueue>>> {
        step!();
        // No code panics between two changes of the map, so it is consistent.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open<S: Opens>(
        &self,
        name: &QueueName,
        config: &S::Config,
        agrees: impl FnOnce(&S) -> Result<()>,
    ) -> Result<Arc<QueueHandle<S>>> {
        let opened = self.open_unnamed(name, config, agrees);
        opened.map_err(|error| error.with_queue(name))
    }

    fn open_unnamed<S: Opens>(
        &self,
        name: &QueueName,
        config: &S::Config,
        agrees: impl FnOnce(&S) -> Result<()>,
    ) -> Result<Arc<QueueHandle<S>>> {
        let mut queues = self.lock();
        if let Some(queue) = queues.get(name) {
            let queue = of_kind::<S>(queue)?;
            queue.read(agrees)??;
            return Ok(queue);
        }
        let queue = QueueHandle::new(name.clone(), S::KIND, self.clock, S::create(config));
        let queue = Arc::new(queue);
        queues.insert(name.clone(), Arc::clone(&queue) as Arc<dyn RegisteredQueue>);
        Ok(queue)
    }

    fn handle_to<S: Opens>(
        self: &Arc<Self>,
        queue: Arc<QueueHandle<S>>,
        config: &S::Config,
        max_body: usize,
    ) -> Handle<S> {
        let home = QueueSlot::<S> {
            registry: Arc::clone(self),
            name: queue.name().clone(),
            config: config.clone(),
        };
        Handle::new(queue, max_body, Arc::new(home))
    }

    fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let mut queues = self.lock();
        let Some(queue) = queues.get(name) else {
            return Ok(false);
        };
        // Under both locks, so that exactly the queues in the map take calls.
        let rest = queue.end(removal)?;
        planted!(RemovedStaysListed => return Ok(true));
        queues.remove(name);
        drop(queues);
        rest();
        Ok(true)
    }
}

/// The queue, if it is of this kind.
fn of_kind<S: Opens>(queue: &Arc<dyn RegisteredQueue>) -> Result<Arc<QueueHandle<S>>> {
    let kind = queue.kind();
    let queue = Arc::clone(queue) as Arc<dyn Any + Send + Sync>;
    let queue = queue.downcast::<QueueHandle<S>>();
    queue.map_err(|_| config_mismatch("kind", kind, S::KIND))
}

/// An open.
struct OpenRequest<'a> {
    registry: &'a Arc<Registry>,
    name: &'a QueueName,
    max_body: usize,
}

impl ByKind for OpenRequest<'_> {
    type Answer = AnyQueue;

    fn work<S: Opens>(self, config: &S::Config) -> Result<AnyQueue> {
        let agrees = |state: &S| state.agrees(config);
        let queue = self.registry.open(self.name, config, agrees)?;
        let handle = self.registry.handle_to(queue, config, self.max_body);
        Ok(S::handle(handle))
    }
}

/// A change of the configuration; returns true if there is such a queue.
struct Change<'a> {
    registry: &'a Registry,
    name: &'a QueueName,
}

impl ByKind for Change<'_> {
    type Answer = bool;

    fn work<S: Opens>(self, config: &S::Config) -> Result<bool> {
        let Some(queue) = self.registry.queue(self.name) else {
            return Ok(false);
        };
        let queue = of_kind::<S>(&queue)?;
        match queue.call(|state, now| state.reconfigure(now, config))? {
            ControlFlow::Break(changed) => changed.map(|()| true),
            // Another call removed it meanwhile.
            ControlFlow::Continue(_) => Ok(false),
        }
    }
}

#[async_trait]
impl Backend for MemoryBackend {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        config.check().map_err(|error| error.with_queue(name))?;
        let opening = OpenRequest {
            registry: &self.0,
            name,
            max_body: config.max_body(),
        };
        by_kind(name, config, opening)
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        config.check().map_err(|error| error.with_queue(name))?;
        let agrees = |state: &LeasingState<Bounded>| state.agrees_but_for_capacity(config);
        let queue = self.0.open(name, config, agrees)?;
        let handle = self.0.handle_to(queue, config, config.leasing.max_body);
        handle.call(|state, now| state.ensure_capacity(now, config.capacity))?;
        Ok(Arc::new(handle))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let change = Change {
            registry: &self.0,
            name,
        };
        let changed = config.check().and_then(|()| by_kind(name, config, change));
        changed.map_err(|error| error.with_queue(name))
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let queue = self.0.queue(name);
        queue.map(|queue| queue.stored(&self.0)).transpose()
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        self.0.remove(name, removal)
    }

    async fn now(&self) -> Result<Timestamp> {
        Ok(self.0.clock.now())
    }

    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let mut facts = Facts::default();
        if let Some(queue) = self.0.queue(name) {
            let (waiting, for_room) = queue.waiting()?;
            (facts.waiting, facts.waiting_for_room) = (Some(waiting), Some(for_room));
        }
        Ok(facts)
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
            let rest = rest.map(|(name, queue)| (name.clone(), Arc::clone(queue)));
            rest.take(limit.get()).collect()
        };
        let mut infos = Vec::with_capacity(page.len());
        for (name, queue) in page {
            let kind = queue.kind();
            // A queue that a panic has damaged must not hide the others.
            let counters = queue.looked_at().counters().await.ok();
            infos.push(QueueInfo::new(name, kind, counters));
        }
        Ok(infos)
    }
}
