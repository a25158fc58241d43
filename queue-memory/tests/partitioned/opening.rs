//! Opening, changing, listing and removing a queue of several parts as one.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use queue_core::*;

use crate::{HOUR, LEASE, count, memory, ms, name, on};

#[track_caller]
fn is_refused<T: std::fmt::Debug>(kind: ErrorKind, answer: Result<T>, named: &[&str]) {
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for text in named {
        assert!(
            error.to_string().contains(text),
            "{error} does not name {text}"
        );
    }
}

async fn open(
    backend: &(impl Backend + ?Sized),
    config: impl Into<QueueConfig>,
) -> Result<AnyQueue> {
    backend.open(&name("jobs"), &config.into()).await
}

#[tokio::test]
async fn another_number_of_parts_is_refused_with_both() {
    let memory = memory();
    open(&on(&memory, 8), ReliableConfig::default())
        .await
        .unwrap();
    let mismatch = ErrorKind::ConfigMismatch;
    for (other, asked) in [(1, "asks for 1"), (4, "asks for 4"), (9, "asks for 9")] {
        let named = ["queue jobs", "number of parts is 8", asked];
        is_refused(
            mismatch,
            open(&on(&memory, other), ReliableConfig::default()).await,
            &named,
        );
    }
    open(&on(&memory, 8), ReliableConfig::default())
        .await
        .unwrap();
    is_refused(
        mismatch,
        open(&*memory, ReliableConfig::default()).await,
        &["queue jobs"],
    );
    let plain = memory
        .open(&name("plain"), &ReliableConfig::default().into())
        .await;
    plain.unwrap();
    let parted = on(&memory, 8)
        .open(&name("plain"), &ReliableConfig::default().into())
        .await;
    is_refused(
        mismatch,
        parted,
        &["queue plain", "number of parts is 1", "asks for 8"],
    );
    on(&memory, 1)
        .open(&name("plain"), &ReliableConfig::default().into())
        .await
        .unwrap();
}

#[tokio::test]
async fn another_kind_or_configuration_is_refused_as_of_one_queue() {
    let memory = memory();
    let three = on(&memory, 3);
    open(&three, BoundedConfig::new(8)).await.unwrap();
    let mismatch = ErrorKind::ConfigMismatch;
    is_refused(
        mismatch,
        open(&three, BoundedConfig::new(9)).await,
        &["queue jobs", "capacity is 8", "asks for 9"],
    );
    is_refused(
        mismatch,
        open(&three, DelayConfig::default()).await,
        &["queue jobs", "bounded", "delay"],
    );
    let attempts = BoundedConfig::new(8).with_max_attempts(2);
    is_refused(
        mismatch,
        open(&three, attempts).await,
        &["queue jobs", "max_attempts is 5"],
    );
    is_refused(
        ErrorKind::Invalid,
        open(&three, BoundedConfig::new(2)).await,
        &["capacity of 2 for 3 parts"],
    );
    let queue = three
        .open_or_resize(&name("jobs"), &BoundedConfig::new(10))
        .await
        .unwrap();
    assert_eq!(queue.capacity().await.unwrap(), count(10));
    let stored = three.open_stored(&name("jobs")).await.unwrap().unwrap();
    assert_eq!(stored.config, BoundedConfig::new(10).into());
    is_refused(
        ErrorKind::Invalid,
        queue.resize(count(2)).await,
        &["capacity of 2 for 3 parts"],
    );
    queue.resize(count(4)).await.unwrap();
    let batch: Vec<Offer> = (0..9).map(|n| Offer::new(n.to_string())).collect();
    queue.offer(&batch, Overflow::Reject).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().ready, 4);
}

#[tokio::test]
async fn a_ring_and_a_bad_number_or_name_are_refused() {
    let memory = memory();
    for parts in [0, 65] {
        let parted = Partitioned::new(Arc::clone(&memory), parts);
        is_refused(ErrorKind::Invalid, parted, &["1 to 64"]);
    }
    let ring = open(&on(&memory, 3), RotatingConfig::default()).await;
    is_refused(
        ErrorKind::Configuration,
        ring,
        &["queue jobs", "ring", "on the backend itself"],
    );
    open(&on(&memory, 1), RotatingConfig::default())
        .await
        .unwrap();
    let part = name("orders--1of3-5");
    for parts in [1, 3] {
        let opened = on(&memory, parts)
            .open(&part, &ReliableConfig::default().into())
            .await;
        is_refused(ErrorKind::Invalid, opened, &["name of a part"]);
    }
}

#[tokio::test]
async fn of_racing_first_opens_one_number_wins() {
    for round in 0..20 {
        let memory = memory();
        let mut opening = tokio::task::JoinSet::new();
        for parts in [2, 3, 5, 8, 3, 2] {
            let backend = on(&memory, parts);
            opening.spawn(async move {
                for _ in 0..round % 4 {
                    tokio::task::yield_now().await;
                }
                (parts, open(&backend, ReliableConfig::default()).await)
            });
        }
        let mut won = BTreeSet::new();
        while let Some(opened) = opening.join_next().await {
            let (parts, opened) = opened.unwrap();
            match opened {
                Ok(_) => drop(won.insert(parts)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConfigMismatch),
            }
        }
        assert_eq!(won.len(), 1, "{won:?}");
    }
}

#[tokio::test]
async fn a_listing_shows_each_queue_once_and_no_part() {
    let memory = memory();
    let three = on(&memory, 3);
    for queue in ["jobs", "jobs-1", "jobs.1", "a"] {
        three
            .open(&name(queue), &ReliableConfig::default().into())
            .await
            .unwrap();
    }
    memory
        .open(&name("jobs-"), &DelayConfig::default().into())
        .await
        .unwrap();
    memory
        .open(&name("ring"), &RotatingConfig::default().into())
        .await
        .unwrap();
    let jobs = three
        .open_stored(&name("jobs"))
        .await
        .unwrap()
        .unwrap()
        .queue;
    for _ in 0..5 {
        jobs.put(&["x".into()]).await.unwrap();
    }
    let all = three.queues(None, count(100)).await.unwrap();
    let names: Vec<&str> = all.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["a", "jobs", "jobs-", "jobs-1", "jobs.1", "ring"]);
    assert_eq!(all[1].state.unwrap().depth.ready, 5);
    assert_eq!(all[1].kind, QueueKind::Reliable);
    for limit in 1..=7 {
        let mut seen: Vec<QueueInfo> = Vec::new();
        loop {
            let after = seen.last().map(|info| info.name.clone());
            let page = three.queues(after.as_ref(), count(limit)).await.unwrap();
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            seen.extend(page);
        }
        assert_eq!(seen, all, "in pages of {limit}");
    }
    // A tool need not know the number.
    let tool = on(&memory, 1);
    assert_eq!(tool.queues(None, count(100)).await.unwrap(), all);
    let jobs = tool
        .open_stored(&name("jobs"))
        .await
        .unwrap()
        .unwrap()
        .queue;
    assert_eq!(jobs.leasing().unwrap().depth().await.unwrap().ready, 5);
}

#[tokio::test]
async fn an_open_handles_parts_are_found_again_after_a_flush() {
    let memory = memory();
    let queue = open(&on(&memory, 3), ReliableConfig::default())
        .await
        .unwrap();
    // A removal by somebody who is not told of the parts.
    for info in memory.queues(None, count(100)).await.unwrap() {
        memory
            .remove(&info.name, Removal::EvenIfLeased)
            .await
            .unwrap();
    }
    queue.put(&["x".into()]).await.unwrap();
    let four = open(&on(&memory, 4), ReliableConfig::default()).await;
    is_refused(ErrorKind::ConfigMismatch, four, &["number of parts is 3"]);
    let again = open(&on(&memory, 3), ReliableConfig::default())
        .await
        .unwrap();
    assert_eq!(again.leasing().unwrap().depth().await.unwrap().ready, 1);
}

#[tokio::test(start_paused = true)]
async fn another_ageing_is_refused_before_any_part_has_it() {
    let memory = memory();
    let three = on(&memory, 3);
    let queue = three
        .open_priority(&name("jobs"), &PriorityConfig::default())
        .await
        .unwrap();
    queue.enqueue_one("a", 1).await.unwrap();
    queue.enqueue_one("b", 2).await.unwrap();
    let ageing = PriorityConfig::default().with_ageing(ms(100));
    let refused = three
        .reconfigure(&name("jobs"), &ageing.clone().into())
        .await;
    is_refused(
        ErrorKind::Invalid,
        refused,
        &["queue jobs", "2 messages are ready"],
    );
    open(&three, PriorityConfig::default()).await.unwrap();
    queue.purge_all().await.unwrap();
    assert!(
        three
            .reconfigure(&name("jobs"), &ageing.clone().into())
            .await
            .unwrap()
    );
    open(&three, ageing).await.unwrap();
}

/// Fails after so many calls that make, change or remove something.
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

/// A backend that fails after so many steps, of queues of four parts.
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
            is_refused(ErrorKind::ConfigMismatch, other, &["number of parts is 4"]);
        }
        let stored = on(&memory, 4).open_stored(&name("jobs")).await;
        match steps {
            0 | 1 => assert!(stored.unwrap().is_none(), "no part is there"),
            5 => assert_eq!(stored.unwrap().unwrap().config, config.clone().into()),
            // It creates nothing.
            _ => is_refused(
                ErrorKind::Configuration,
                stored,
                &["of its 4 parts are there"],
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
        let queue = open(&on(&memory, 4), ReliableConfig::default())
            .await
            .unwrap();
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
        // The name is free, for any number of parts.
        open(&on(&memory, 2), DelayConfig::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_lease_in_any_part_keeps_the_whole_queue() {
    let memory = memory();
    let queue = open(&on(&memory, 4), ReliableConfig::default())
        .await
        .unwrap();
    for _ in 0..8 {
        queue.put(&["x".into()]).await.unwrap();
    }
    let held = queue
        .leasing()
        .unwrap()
        .lease(count(1), LEASE)
        .await
        .unwrap();
    assert_eq!(held.deliveries.len(), 1);
    let refused = on(&memory, 4)
        .remove(&name("jobs"), Removal::UnlessLeased)
        .await;
    is_refused(
        ErrorKind::InUse,
        refused,
        &["queue jobs", "1 message is leased"],
    );
    assert_eq!(
        queue.leasing().unwrap().depth().await.unwrap().ready,
        7,
        "nothing is gone"
    );
    assert!(
        on(&memory, 4)
            .remove(&name("jobs"), Removal::EvenIfLeased)
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn a_repeat_finishes_a_reconfiguration_that_was_cut_short() {
    let (old, new) = (
        ReliableConfig::default(),
        ReliableConfig::default().with_max_attempts(2),
    );
    for steps in 0..=4 {
        let memory = memory();
        open(&on(&memory, 4), old.clone()).await.unwrap();
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
        open(&on(&memory, 4), new.clone()).await.unwrap();
    }
}
