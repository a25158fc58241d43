//! Waiting: wake-ups at once, on time, for one caller only, and without leaks.

mod crowds;
mod ends;
mod idlers;
mod order;

use std::{sync::Arc, time::Duration};

use queue_core::{
    Backend, BoundedConfig, BoundedQueue, DelayConfig, DelayQueue, Leasing, QueueName,
    ReliableConfig, ReliableQueue,
};
use queue_memory::MemoryBackend;
use tokio::{task::yield_now, time::Instant};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3600);

fn name() -> QueueName {
    QueueName::new("waiting").unwrap()
}

async fn reliable() -> Arc<dyn ReliableQueue> {
    let backend = MemoryBackend::new();
    backend
        .open_reliable(&name(), &ReliableConfig::default())
        .await
        .unwrap()
}

async fn delay() -> Arc<dyn DelayQueue> {
    let backend = MemoryBackend::new();
    backend
        .open_delay(&name(), &DelayConfig::default())
        .await
        .unwrap()
}

async fn bounded(capacity: usize, attempts: u32) -> Arc<dyn BoundedQueue> {
    let config = BoundedConfig::new(capacity).with_max_attempts(attempts);
    MemoryBackend::new()
        .open_bounded(&name(), &config)
        .await
        .unwrap()
}

/// Lets all other tasks run until each waits, while time stands still.
async fn settle_down() {
    for _ in 0..100 {
        yield_now().await;
    }
}

/// A consumer of one message. Returns the time at which the message came.
async fn consumer(queue: Arc<dyn DelayQueue>, start: Instant) -> Duration {
    queue.wait_for_arrival(LONG).await.unwrap();
    let leased = queue.lease(1.try_into().unwrap(), LONG).await.unwrap();
    assert_eq!(leased.deliveries.len(), 1);
    start.elapsed()
}
