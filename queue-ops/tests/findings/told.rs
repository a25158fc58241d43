//! A backend in memory that tells what a test wants of its server and its clock.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{Diagnosis, Finding, Problem, Severity, diagnose};
use tokio::time::{Instant, sleep_until};

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const LONG: Duration = Duration::from_secs(20 * 3_600);
/// 2026-11-27 00:00 UTC.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_795_737_600_000);

#[derive(Debug)]
pub(crate) struct Told {
    memory: MemoryBackend,
    pub(crate) server: Option<ServerFacts>,
    /// The error of opening a queue.
    pub(crate) refuses: Option<ErrorKind>,
    /// The clock is behind the queue's by this.
    pub(crate) behind: Duration,
    /// The workers and groups are those of the memory; consumers are not counted.
    pub(crate) counts_nobody: bool,
}

impl Told {
    pub(crate) fn new() -> Self {
        Self {
            memory: MemoryBackend::starting_at(START),
            server: None,
            refuses: None,
            behind: Duration::ZERO,
            counts_nobody: false,
        }
    }
}

#[async_trait]
impl Backend for Told {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        self.memory.open(name, config).await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        match self.refuses {
            Some(kind) => Err(Error::new(kind, "it takes no call")),
            None => self.memory.open_stored(name).await,
        }
    }

    async fn now(&self) -> Result<Timestamp> {
        let now = self.memory.now().await?.as_millis();
        let behind = u64::try_from(self.behind.as_millis()).expect("a short time");
        Ok(Timestamp::from_millis(now - behind))
    }

    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let mut facts = self.memory.facts(name).await?;
        facts.server = self.server.clone();
        if self.counts_nobody {
            facts.waiting = None;
        }
        Ok(facts)
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.memory.queues(after, limit).await
    }
}

/// The queue `orders` in memory, and the time since it was made.
pub(crate) struct Site {
    pub(crate) queues: Queues,
    begun: Instant,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::on(Told::new())
    }

    pub(crate) fn on(backend: Told) -> Self {
        Self {
            queues: Queues::from(Arc::new(backend) as Arc<dyn Backend>),
            begun: Instant::now(),
        }
    }

    /// Waits until this time after the beginning.
    pub(crate) async fn at(&self, millis: u64) {
        sleep_until(self.begun + Duration::from_millis(millis)).await;
    }

    pub(crate) async fn why(&self) -> Diagnosis {
        diagnose(&**self.queues.backend(), "orders").await.unwrap()
    }

    pub(crate) async fn find(&self, problem: Problem) -> Option<Finding> {
        let found = self.why().await.findings;
        found.into_iter().find(|one| one.problem == problem)
    }

    pub(crate) async fn severity(&self, problem: Problem) -> Option<Severity> {
        self.find(problem).await.map(|one| one.severity)
    }

    /// The problems that are no notes, the worst first.
    pub(crate) async fn problems(&self) -> Vec<Problem> {
        let found = self.why().await.findings.into_iter();
        let bad = found.filter(|one| one.severity != Severity::Note);
        bad.map(|one| one.problem).collect()
    }
}

/// Leases `count` messages for a holder.
pub(crate) async fn lease(
    queue: &dyn Leasing,
    count: usize,
    time: Duration,
    holder: &str,
) -> Vec<Receipt> {
    let holder = (!holder.is_empty()).then(|| Holder::new(holder).unwrap());
    let count = count.try_into().unwrap();
    let leased = queue.settle_and_lease(&[], count, time, holder).await;
    let leased = leased.unwrap().1.deliveries;
    leased.iter().map(|one| one.receipt).collect()
}

/// Pushes `count` messages.
pub(crate) async fn push(queue: &dyn ReliableQueue, count: usize) {
    let batch = vec![Push::new("1"); count];
    for batch in batch.chunks(limits::MAX_BATCH) {
        queue.push(batch).await.unwrap();
    }
}

pub(crate) async fn settle(queue: &dyn Leasing, settlements: &[Settlement]) {
    for settlements in settlements.chunks(limits::MAX_BATCH) {
        let settled = queue.settle(settlements).await.unwrap();
        assert!(!settled.contains(&Settled::LeaseLost));
    }
}
