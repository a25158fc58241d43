//! A backend whose queues are handed out through a pointer or a decorator.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::*;
use queue_memory::MemoryBackend;

/// What stands between the caller and the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapping {
    None,
    Arc,
    Box,
    PassThrough,
}

#[derive(Debug)]
pub(crate) struct Wrapped {
    backend: MemoryBackend,
    wrapping: Wrapping,
}

impl Wrapped {
    pub(crate) const fn new(backend: MemoryBackend, wrapping: Wrapping) -> Self {
        Self { backend, wrapping }
    }
}

/// The queue in this wrapping; each pointer is one more than the `dyn` needs.
macro_rules! wrap {
    ($self:ident, $queue:expr) => {{
        let queue = $queue;
        Ok(match $self.wrapping {
            Wrapping::None => queue,
            Wrapping::Arc => Arc::new(queue),
            Wrapping::Box => Arc::new(Box::new(queue)),
            Wrapping::PassThrough => Arc::new(PassThrough(queue)),
        })
    }};
}

#[async_trait]
impl Backend for Wrapped {
    async fn open_reliable(
        &self,
        name: &QueueName,
        config: &ReliableConfig,
    ) -> Result<Arc<dyn ReliableQueue>> {
        wrap!(self, self.backend.open_reliable(name, config).await?)
    }
    async fn open_delay(
        &self,
        name: &QueueName,
        config: &DelayConfig,
    ) -> Result<Arc<dyn DelayQueue>> {
        wrap!(self, self.backend.open_delay(name, config).await?)
    }
    async fn open_priority(
        &self,
        name: &QueueName,
        config: &PriorityConfig,
    ) -> Result<Arc<dyn PriorityQueue>> {
        wrap!(self, self.backend.open_priority(name, config).await?)
    }
    async fn open_bounded(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        wrap!(self, self.backend.open_bounded(name, config).await?)
    }
    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        wrap!(self, self.backend.open_or_resize(name, config).await?)
    }
    async fn open_rotating(
        &self,
        name: &QueueName,
        config: &RotatingConfig,
    ) -> Result<Arc<dyn RotatingQueue>> {
        wrap!(self, self.backend.open_rotating(name, config).await?)
    }
    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        wrap!(self, self.backend.open_once(name).await?)
    }
    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.backend.queues(after, limit).await
    }
}

/// Passes every call on. It leaves `turn` to the trait, as a decorator may that only knows how
/// to settle and how to lease.
#[derive(Debug)]
struct PassThrough<Q>(Q);

#[async_trait]
impl<Q: Leasing> Leasing for PassThrough<Q> {
    async fn lease(&self, max: NonZeroUsize, ttl: Duration) -> Result<Leased> {
        self.0.lease(max, ttl).await
    }
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        self.0.settle(settlements).await
    }
    async fn extend(&self, receipts: &[Receipt], ttl: Duration) -> Result<Vec<Extended>> {
        self.0.extend(receipts, ttl).await
    }
    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        self.0.wait_for_arrival(timeout).await
    }
    async fn depth(&self) -> Result<Depth> {
        self.0.depth().await
    }
    async fn counters(&self) -> Result<Counters> {
        self.0.counters().await
    }
    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        self.0.dead_letters(page).await
    }
    async fn revive(&self, ids: &[MessageId]) -> Result<Vec<Revived>> {
        self.0.revive(ids).await
    }
    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        self.0.discard(ids).await
    }
    async fn pause(&self) -> Result<()> {
        self.0.pause().await
    }
    async fn resume(&self) -> Result<()> {
        self.0.resume().await
    }
    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        self.0.purge(max).await
    }
}

#[async_trait]
impl<Q: ReliableQueue> ReliableQueue for PassThrough<Q> {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        self.0.push(messages).await
    }
}

#[async_trait]
impl<Q: DelayQueue> DelayQueue for PassThrough<Q> {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        self.0.schedule(messages).await
    }
    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        self.0.cancel(ids).await
    }
    async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled> {
        self.0.reschedule(id, due).await
    }
    async fn next_due(&self) -> Result<Option<Duration>> {
        self.0.next_due().await
    }
}

#[async_trait]
impl<Q: PriorityQueue> PriorityQueue for PassThrough<Q> {
    async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
        self.0.enqueue(messages).await
    }
}

#[async_trait]
impl<Q: BoundedQueue> BoundedQueue for PassThrough<Q> {
    async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>> {
        self.0.offer(messages, overflow).await
    }
    async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        self.0.wait_for_room(timeout).await
    }
    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        self.0.recent(n).await
    }
    async fn capacity(&self) -> Result<NonZeroUsize> {
        self.0.capacity().await
    }
    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        self.0.resize(capacity).await
    }
}

#[async_trait]
impl<Q: RotatingQueue> RotatingQueue for PassThrough<Q> {
    async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>> {
        self.0.insert(items).await
    }
    async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated> {
        self.0.rotate(max).await
    }
    async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
        self.0.wait_for_turn(timeout).await
    }
    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        self.0.list(page).await
    }
    async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
        self.0.remove(ids).await
    }
    async fn len(&self) -> Result<u64> {
        self.0.len().await
    }
}

#[async_trait]
impl<S: OnceStore> OnceStore for PassThrough<S> {
    async fn claim(&self, key: &[u8], ttl: Duration) -> Result<Claim> {
        self.0.claim(key, ttl).await
    }
    async fn extend(&self, key: &[u8], token: Token, ttl: Duration) -> Result<()> {
        self.0.extend(key, token, ttl).await
    }
    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()> {
        self.0.finish(key, token, keep).await
    }
    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        self.0.release(key, token).await
    }
    async fn counts(&self) -> Result<OnceCounts> {
        self.0.counts().await
    }
}
