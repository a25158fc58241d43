//! First opens, removals and reconfigurations that were cut short, and are repeated.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use queue_core::*;

use crate::{
    HOUR, count, memory, name, on,
    opening::{is_refused, open, opened},
};

/// Fails after this number of calls that create, change or remove something.
#[derive(Debug)]
struct Failing(Arc<dyn Backend>, AtomicUsize);

impl Failing {
    fn step(&self) -> Result<()> {
        let left = self
            .1
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        left.map(drop)
            .map_err(|_| Error::new(ErrorKind::Unavailable, "the process is gone"))
    }
}

#[async_trait]
impl Backend for Failing {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        self.step()?;
        self.0.open(name, config).await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        self.0.open_stored(name).await
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        self.step()?;
        self.0.remove(name, removal).await
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        self.step()?;
        self.0.reconfigure(name, config).await
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.0.queues(after, limit).await
    }
}

/// A backend of queues of four partitions that fails after `steps` steps.
fn failing(memory: &Arc<dyn Backend>, steps: usize) -> Partitioned {
    let failing: Arc<dyn Backend> = Arc::new(Failing(Arc::clone(memory), steps.into()));
    on(&failing, 4)
}

#[tokio::test]
async fn a_repeat_mends_a_first_open_that_was_cut_short() {
    let config = BoundedConfig::new(10);
    for steps in 0..=5 {
        let memory = memory();
        let cut = open(&failing(&memory, steps), config.clone()).await;
        assert_eq!(cut.is_ok(), steps == 5, "{steps}: {cut:?}");
        if steps > 0 {
            let other = open(&on(&memory, 3), config.clone()).await;
            is_refused(
                ErrorKind::ConfigMismatch,
                other,
                &["number of partitions is 4"],
            );
        }
        let stored = on(&memory, 4).open_stored(&name("jobs")).await;
        match steps {
            0 | 1 => assert!(stored.unwrap().is_none(), "no partition is there"),
            5 => assert_eq!(stored.unwrap().unwrap().config, config.clone().into()),
            // This call creates nothing.
            _ => is_refused(
                ErrorKind::Configuration,
                stored,
                &["of its 4 partitions exist"],
            ),
        }
        let opened = open(&on(&memory, 4), config.clone()).await;
        assert_eq!(opened.unwrap().kind(), QueueKind::Bounded);
        let listed = on(&memory, 4).queues(None, count(9)).await.unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
    }
}

#[tokio::test]
async fn a_repeat_finishes_a_removal_that_was_cut_short() {
    for steps in 0..=5 {
        let memory = memory();
        let queue = opened(&memory, 4, ReliableConfig::default()).await;
        for _ in 0..8 {
            queue
                .put(&[Push::new("x").with_dedup("key", HOUR), "y".into()])
                .await
                .unwrap();
        }
        let cut = failing(&memory, steps)
            .remove(&name("jobs"), Removal::UnlessLeased)
            .await;
        match cut {
            Ok(removed) => assert!(removed && steps == 5),
            Err(error) => {
                let outcome = if steps == 0 {
                    Outcome::NotApplied
                } else {
                    Outcome::Unknown
                };
                assert_eq!(error.outcome(), outcome, "{steps}: {error}");
            }
        }
        let again = on(&memory, 4)
            .remove(&name("jobs"), Removal::UnlessLeased)
            .await
            .unwrap();
        assert_eq!(again, steps < 5);
        assert_eq!(memory.queues(None, count(9)).await.unwrap(), []);
        // The name is free, for any number of partitions.
        opened(&memory, 2, DelayConfig::default()).await;
    }
}

#[tokio::test]
async fn a_repeat_finishes_a_reconfiguration_that_was_cut_short() {
    let (old, new) = (
        ReliableConfig::default(),
        ReliableConfig::default().with_max_attempts(2),
    );
    for steps in 0..=4 {
        let memory = memory();
        opened(&memory, 4, old.clone()).await;
        let cut = failing(&memory, steps)
            .reconfigure(&name("jobs"), &new.clone().into())
            .await;
        assert_eq!(cut.is_ok(), steps == 4, "{steps}: {cut:?}");
        assert!(
            on(&memory, 4)
                .reconfigure(&name("jobs"), &new.clone().into())
                .await
                .unwrap()
        );
        opened(&memory, 4, new.clone()).await;
    }
}
