//! A queue in memory, messages in it, and a worker that stops when all of them are gone.

use std::{sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_worker::*;

use crate::spy::Spy;

pub(crate) const MILLI: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A reliable queue of numbers, and a spy on it.
pub(crate) struct Environment {
    pub(crate) queue: Arc<dyn ReliableQueue>,
    pub(crate) numbers: Reliable<u64>,
    pub(crate) spy: Spy,
}

impl Environment {
    pub(crate) async fn new() -> Self {
        Self::with(&ReliableConfig::default()).await
    }

    pub(crate) async fn with(config: &ReliableConfig) -> Self {
        let name = QueueName::new("jobs").unwrap();
        let queue = MemoryBackend::new();
        let queue = queue.open_reliable(&name, config).await.unwrap();
        Self {
            numbers: Reliable::new(Arc::clone(&queue)),
            spy: Spy::on(Arc::clone(&queue)),
            queue,
        }
    }

    /// An environment whose queue holds the numbers from 0 to `count - 1`.
    pub(crate) async fn holding(count: u64) -> Self {
        let environment = Self::new().await;
        environment.push(count).await;
        environment
    }

    pub(crate) async fn push(&self, count: u64) {
        let numbers: Vec<u64> = (0..count).collect();
        self.numbers.push_all(&numbers).await.unwrap();
    }

    /// A worker on the queue behind the spy.
    pub(crate) fn worker(&self) -> Worker<u64> {
        Worker::new(self.spy.consumer::<u64>())
    }

    /// The queue behind the spy, for a worker of several queues.
    pub(crate) fn route(&self) -> Route<u64> {
        Route::new(self.spy.consumer::<u64>())
    }

    /// Runs this worker until nothing is ready, delayed or leased.
    pub(crate) async fn work_off<H, F>(&self, worker: Worker<u64>, handler: H) -> Report
    where
        H: Fn(u64, Context) -> F + Send + Sync + 'static,
        F: Future<Output: IntoVerdict> + Send + 'static,
    {
        worker.run_until(self.empty(), handler).await.unwrap()
    }

    pub(crate) async fn counters(&self) -> Counters {
        self.queue.counters().await.unwrap()
    }

    /// Waits until nothing is ready, delayed or leased.
    pub(crate) async fn empty(&self) {
        self.until(|counters| counters.depth.occupied() == 0).await;
    }

    /// Waits until `holds` for the queue's counters, for at most two hours of virtual time.
    pub(crate) async fn until(&self, holds: impl Fn(&Counters) -> bool + Send + Sync) {
        let poll = async {
            while !holds(&self.counters().await) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(2 * HOUR, poll).await;
        assert!(waited.is_ok(), "still {:?}", self.queue.counters().await);
    }
}
