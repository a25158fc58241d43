//! The kinds: the state of each, and the verbs that only one kind has.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, BoundedQueue, Bytes, DelayQueue, Group, GroupChange, GroupedQueue, Insert, Inserted,
    Message, MessageId, Page, Paged, PriorityQueue, QueueConfig, QueueName, ReliableQueue, Result,
    Rotated, RotatingQueue, check_capacity, limits,
};

use super::{home::Handle, leasing::LeasingHandle};
use crate::state::{Bounded, Delay, Grouped, LeasingState, Openable, Priority, Reliable, Ring};

/// A state whose handles are queues of a kind.
pub(crate) trait Opens: Openable {
    fn handle(handle: Handle<Self>) -> AnyQueue
    where
        Self: Sized;
}

/// Work with the state of a kind, by the configuration of that kind.
pub(crate) trait ByKind {
    type Answer;

    fn work<S: Opens>(self, config: &S::Config) -> Result<Self::Answer>;
}

/// Declares the state of each kind.
macro_rules! kinds {
    ($($kind:ident: $state:ty;)*) => {
        $(impl Opens for $state {
            fn handle(handle: Handle<Self>) -> AnyQueue {
                AnyQueue::$kind(Arc::new(handle))
            }
        })*

        /// Works with the state of this configuration's kind.
        pub(crate) fn by_kind<W: ByKind>(
            name: &QueueName,
            config: &QueueConfig,
            work: W,
        ) -> Result<W::Answer> {
            match config {
                $(QueueConfig::$kind(config) => work.work::<$state>(config),)*
                other => Err(other.kind().missing(name)),
            }
        }
    };
}

kinds! {
    Reliable: LeasingState<Reliable>;
    Delay: LeasingState<Delay>;
    Priority: LeasingState<Priority>;
    Grouped: LeasingState<Grouped>;
    Bounded: LeasingState<Bounded>;
    Rotating: Ring;
}

impl ReliableQueue for LeasingHandle<Reliable> {}

#[async_trait]
impl DelayQueue for LeasingHandle<Delay> {
    async fn next_due(&self) -> Result<Option<Duration>> {
        self.call(LeasingState::next_due)
    }
}

impl PriorityQueue for LeasingHandle<Priority> {}

#[async_trait]
impl GroupedQueue for LeasingHandle<Grouped> {
    async fn groups(&self, page: Page) -> Result<Paged<Group>> {
        self.checked(page.check())?;
        self.call(|state, now| state.groups(now, page))
    }

    async fn change_group(&self, key: Bytes, change: GroupChange) -> Result<()> {
        self.checked(change.check(&key))?;
        let changed = self.call(|state, now| state.change_group(now, &key, &change))?;
        self.checked(changed)
    }
}

#[async_trait]
impl BoundedQueue for LeasingHandle<Bounded> {
    async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        self.room(timeout).await
    }

    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        self.checked(limits::check_page(n))?;
        self.call(|state, now| state.recent(now, n))
    }

    async fn capacity(&self) -> Result<NonZeroUsize> {
        let capacity = self.without_waking(|state| LeasingState::capacity(state))?;
        Ok(NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN))
    }

    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        let capacity = capacity.get();
        self.checked(check_capacity(capacity))?;
        let dropped = self.call(|state, now| state.resize(now, capacity))?;
        Ok(dropped.iter().map(|entry| entry.id).collect())
    }
}

#[async_trait]
impl RotatingQueue for Handle<Ring> {
    async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>> {
        self.checked(Insert::check_all(items, self.max_body))?;
        self.call(|ring, _| ring.insert(items))
    }

    async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated> {
        self.checked(limits::check_max(max.get()))?;
        self.call(|ring, now| ring.rotate(now, max.get()))
    }

    async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
        self.arrival(timeout).await
    }

    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        self.checked(page.check())?;
        self.without_waking(|ring| ring.list(page))
    }

    async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
        self.checked(limits::check_batch(ids.len()))?;
        self.call(|ring, _| ring.remove(ids))
    }

    async fn len(&self) -> Result<u64> {
        self.without_waking(|ring| ring.len() as u64)
    }
}
