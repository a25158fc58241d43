//! States as bytes, and what a journal has to know of them.

use std::sync::{Arc, PoisonError};

use queue_core::{QueueConfig, QueueName, Result, Timestamp};

use super::{MemoryBackend, RegisteredQueue, Registry};
use crate::{
    coded::Coded,
    handle::{ByKind, OnceHandle, Opens, QueueHandle, by_kind},
};

/// A queue whose state can be stored.
pub(super) trait Saved {
    fn stirs(&self, now: Timestamp) -> Result<bool>;

    fn entries(&self) -> Result<usize>;

    fn save(&self) -> Result<Vec<u8>>;
}

impl<S: Opens> Saved for QueueHandle<S> {
    fn stirs(&self, now: Timestamp) -> Result<bool> {
        self.read(|state| state.stirs(now))
    }

    fn entries(&self) -> Result<usize> {
        self.read(S::entries)
    }

    fn save(&self) -> Result<Vec<u8>> {
        self.read(|state| {
            let mut bytes = Vec::new();
            let config: QueueConfig = state.config().clone().into();
            config.put(&mut bytes);
            state.put(&mut bytes);
            bytes
        })
    }
}

/// Makes a queue of stored bytes.
struct Restore<'a, 'b> {
    registry: &'a Registry,
    name: &'a QueueName,
    bytes: &'a mut &'b [u8],
}

impl ByKind for Restore<'_, '_> {
    type Answer = Option<()>;

    fn work<S: Opens>(self, _: &S::Config) -> Result<Option<()>> {
        Ok(S::get(self.bytes).map(|state| {
            let name = self.name.clone();
            let queue = QueueHandle::new(name.clone(), S::KIND, self.registry.clock, state);
            let queue: Arc<dyn RegisteredQueue> = Arc::new(queue);
            self.registry.lock().insert(name, queue);
        }))
    }
}

#[doc(hidden)]
impl MemoryBackend {
    /// The clock's time.
    pub fn time(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// Whether any call changes the queue of this name at this time, also a call that only reads.
    ///
    /// # Errors
    ///
    /// `Internal` if an earlier call of the queue panicked.
    pub fn stirs(&self, name: &QueueName, now: Timestamp) -> Result<bool> {
        let queue = self.0.queue(name);
        queue.map_or(Ok(false), |queue| queue.as_saved().stirs(now))
    }

    /// How many messages, dead letters, marks and results the queue of this name holds.
    ///
    /// # Errors
    ///
    /// As [`stirs`](Self::stirs).
    pub fn entries(&self, name: &QueueName) -> Result<usize> {
        let queue = self.0.queue(name);
        queue.map_or(Ok(0), |queue| queue.as_saved().entries())
    }

    /// The state of the queue of this name, as bytes.
    ///
    /// # Errors
    ///
    /// As [`stirs`](Self::stirs).
    pub fn save(&self, name: &QueueName) -> Result<Option<Vec<u8>>> {
        let queue = self.0.queue(name);
        queue.map(|queue| queue.as_saved().save()).transpose()
    }

    /// Makes the queue of this name from its stored state. Returns its configuration, or `None` if the bytes are no
    /// state.
    pub fn restore(&self, name: &QueueName, mut bytes: &[u8]) -> Option<QueueConfig> {
        let config = QueueConfig::get(&mut bytes)?;
        let restore = Restore {
            registry: &self.0,
            name,
            bytes: &mut bytes,
        };
        by_kind(name, &config, restore).ok()??;
        bytes.is_empty().then_some(config)
    }

    /// How many keys the store of this name holds.
    ///
    /// # Errors
    ///
    /// `Internal` if an earlier call of the store panicked.
    pub fn once_entries(&self, name: &QueueName) -> Result<usize> {
        let store = self.once(name);
        store.map_or(Ok(0), |store| store.entries())
    }

    /// The state of the store of once keys of this name, as bytes.
    ///
    /// # Errors
    ///
    /// As [`once_entries`](Self::once_entries).
    pub fn save_once(&self, name: &QueueName) -> Result<Option<Vec<u8>>> {
        self.once(name).map(|store| store.save()).transpose()
    }

    /// Makes the store of this name from its stored state. `None` if the bytes are no state.
    pub fn restore_once(&self, name: &QueueName, bytes: &[u8]) -> Option<()> {
        let store = OnceHandle::restored(name.clone(), self.0.clock, bytes)?;
        let mut stores = self.0.once.lock().unwrap_or_else(PoisonError::into_inner);
        stores.insert(name.clone(), Arc::new(store));
        Some(())
    }

    fn once(&self, name: &QueueName) -> Option<Arc<OnceHandle>> {
        let stores = self.0.once.lock().unwrap_or_else(PoisonError::into_inner);
        stores.get(name).cloned()
    }
}
