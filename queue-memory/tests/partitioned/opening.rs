//! Opening, changing, listing and removing a queue of several partitions as one.

use std::{collections::BTreeSet, sync::Arc};

use queue_core::*;

use crate::{LEASE, count, memory, ms, name, on};

#[track_caller]
pub(crate) fn is_refused<T: std::fmt::Debug>(kind: ErrorKind, answer: Result<T>, named: &[&str]) {
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for text in named {
        assert!(
            error.to_string().contains(text),
            "{error} does not name {text}"
        );
    }
}

pub(crate) async fn open(
    backend: &(impl Backend + ?Sized),
    config: impl Into<QueueConfig>,
) -> Result<AnyQueue> {
    open_as(backend, "jobs", config).await
}

async fn open_as(
    backend: &(impl Backend + ?Sized),
    queue: &str,
    config: impl Into<QueueConfig>,
) -> Result<AnyQueue> {
    backend.open(&name(queue), &config.into()).await
}

/// The queue as it is stored.
async fn stored(backend: &impl Backend) -> StoredQueue {
    let stored = backend.open_stored(&name("jobs")).await.unwrap();
    stored.expect("it is there")
}

/// Opens the queue with `partitions` partitions, which must succeed.
pub(crate) async fn opened(
    memory: &Arc<dyn Backend>,
    partitions: usize,
    config: impl Into<QueueConfig>,
) -> AnyQueue {
    let opened = open(&on(memory, partitions), config).await;
    opened.expect("it opens")
}

#[tokio::test]
async fn another_number_of_partitions_is_refused_with_both() {
    let memory = memory();
    opened(&memory, 8, ReliableConfig::default()).await;
    let mismatch = ErrorKind::ConfigMismatch;
    for (other, asked) in [(1, "asks for 1"), (4, "asks for 4"), (9, "asks for 9")] {
        let named = ["queue jobs", "number of partitions is 8", asked];
        let refused = open(&on(&memory, other), ReliableConfig::default()).await;
        is_refused(mismatch, refused, &named);
    }
    opened(&memory, 8, ReliableConfig::default()).await;
    let refused = open(&*memory, ReliableConfig::default()).await;
    is_refused(mismatch, refused, &["queue jobs"]);
    let config = ReliableConfig::default();
    let plain = open_as(&*memory, "plain", config.clone()).await;
    plain.unwrap();
    let partitioned = open_as(&on(&memory, 8), "plain", config.clone()).await;
    let named = ["queue plain", "number of partitions is 1", "asks for 8"];
    is_refused(mismatch, partitioned, &named);
    let one = open_as(&on(&memory, 1), "plain", config).await;
    one.unwrap();
}

#[tokio::test]
async fn another_kind_or_configuration_is_refused_as_of_one_queue() {
    let memory = memory();
    let three = on(&memory, 3);
    open(&three, BoundedConfig::new(8)).await.unwrap();
    let mismatch = ErrorKind::ConfigMismatch;
    let refused = open(&three, BoundedConfig::new(9)).await;
    is_refused(
        mismatch,
        refused,
        &["queue jobs", "capacity is 8", "asks for 9"],
    );
    let refused = open(&three, DelayConfig::default()).await;
    is_refused(mismatch, refused, &["queue jobs", "bounded", "delay"]);
    let attempts = BoundedConfig::new(8).with_max_attempts(2);
    let refused = open(&three, attempts).await;
    is_refused(mismatch, refused, &["queue jobs", "max_attempts is 5"]);
    let refused = open(&three, BoundedConfig::new(2)).await;
    is_refused(
        ErrorKind::Invalid,
        refused,
        &["capacity of 2 for 3 partitions"],
    );
    let queue = three
        .open_or_resize(&name("jobs"), &BoundedConfig::new(10))
        .await
        .unwrap();
    assert_eq!(queue.capacity().await.unwrap(), count(10));
    let ten = BoundedConfig::new(10).into();
    assert_eq!(stored(&three).await.config, ten);
    let refused = queue.resize(count(2)).await;
    is_refused(
        ErrorKind::Invalid,
        refused,
        &["capacity of 2 for 3 partitions"],
    );
    queue.resize(count(4)).await.unwrap();
    let batch: Vec<Push> = (0..9).map(|n| Push::from(n.to_string())).collect();
    queue.push(&batch).await.unwrap();
    assert_eq!(queue.depth().await.unwrap().ready, 4);
}

#[tokio::test]
async fn a_ring_and_a_bad_number_or_name_are_refused() {
    let memory = memory();
    for partitions in [0, 65] {
        let partitioned = Partitioned::new(Arc::clone(&memory), partitions);
        is_refused(ErrorKind::Invalid, partitioned, &["1 to 64"]);
    }
    let ring = open(&on(&memory, 3), RotatingConfig::default()).await;
    is_refused(
        ErrorKind::Configuration,
        ring,
        &["queue jobs", "ring", "on the backend itself"],
    );
    opened(&memory, 1, RotatingConfig::default()).await;
    for partitions in [1, 3] {
        let (backend, config) = (on(&memory, partitions), ReliableConfig::default());
        let opened = open_as(&backend, "orders--1of3-5", config).await;
        is_refused(ErrorKind::Invalid, opened, &["name of a partition"]);
    }
}

#[tokio::test]
async fn of_racing_first_opens_one_number_wins() {
    for round in 0..20 {
        let memory = memory();
        let mut opening = tokio::task::JoinSet::new();
        for partitions in [2, 3, 5, 8, 3, 2] {
            let backend = on(&memory, partitions);
            opening.spawn(async move {
                for _ in 0..round % 4 {
                    tokio::task::yield_now().await;
                }
                (partitions, open(&backend, ReliableConfig::default()).await)
            });
        }
        let mut won = BTreeSet::new();
        while let Some(opened) = opening.join_next().await {
            let (partitions, opened) = opened.unwrap();
            match opened {
                Ok(_) => drop(won.insert(partitions)),
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConfigMismatch),
            }
        }
        assert_eq!(won.len(), 1, "{won:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_listing_shows_each_queue_once_and_no_partition() {
    let memory = memory();
    let three = on(&memory, 3);
    for queue in ["jobs", "jobs-1", "jobs.1", "a"] {
        let opened = open_as(&three, queue, ReliableConfig::default()).await;
        opened.unwrap();
    }
    let delay = open_as(&*memory, "jobs-", DelayConfig::default()).await;
    delay.unwrap();
    let ring = open_as(&*memory, "ring", RotatingConfig::default()).await;
    ring.unwrap();
    let jobs = stored(&three).await.queue;
    for _ in 0..5 {
        jobs.put(&["x".into()]).await.unwrap();
    }
    let all = three.queues(None, count(100)).await.unwrap();
    let names: Vec<&str> = all.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["a", "jobs", "jobs-", "jobs-1", "jobs.1", "ring"]);
    assert_eq!(all[1].counters.unwrap().depth.ready, 5);
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
    let jobs = stored(&tool).await.queue;
    assert_eq!(jobs.leasing().unwrap().depth().await.unwrap().ready, 5);
}

#[tokio::test]
async fn an_open_handles_partitions_are_found_again_after_a_flush() {
    let memory = memory();
    let queue = opened(&memory, 3, ReliableConfig::default()).await;
    // A removal by a caller that does not know of the partitions.
    for info in memory.queues(None, count(100)).await.unwrap() {
        memory
            .remove(&info.name, Removal::EvenIfLeased)
            .await
            .unwrap();
    }
    queue.put(&["x".into()]).await.unwrap();
    let four = open(&on(&memory, 4), ReliableConfig::default()).await;
    is_refused(
        ErrorKind::ConfigMismatch,
        four,
        &["number of partitions is 3"],
    );
    let again = opened(&memory, 3, ReliableConfig::default()).await;
    assert_eq!(again.leasing().unwrap().depth().await.unwrap().ready, 1);
}

#[tokio::test(start_paused = true)]
async fn another_ageing_is_refused_before_any_partition_has_it() {
    let memory = memory();
    let three = on(&memory, 3);
    let queue = three
        .open_priority(&name("jobs"), &PriorityConfig::default())
        .await
        .unwrap();
    queue
        .push_one(Push::from("a").with_priority(1))
        .await
        .unwrap()
        .id()
        .unwrap();
    queue
        .push_one(Push::from("b").with_priority(2))
        .await
        .unwrap()
        .id()
        .unwrap();
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

#[tokio::test]
async fn a_lease_in_any_partition_keeps_the_whole_queue() {
    let memory = memory();
    let queue = opened(&memory, 4, ReliableConfig::default()).await;
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

/// One partition is missing in the list: its creator died before it listed the partition.
#[derive(Debug)]
struct Unlisted(Arc<dyn Backend>);

#[async_trait::async_trait]
impl Backend for Unlisted {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        self.0.open(name, config).await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        self.0.open_stored(name).await
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        self.0.reconfigure(name, config).await
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        self.0.remove(name, removal).await
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: std::num::NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        let mut listed = self.0.queues(after, limit).await?;
        listed.retain(|info| !info.name.as_str().contains("--1of3"));
        Ok(listed)
    }
}

#[tokio::test]
async fn a_removal_takes_partitions_along_that_no_list_has() {
    let memory: Arc<dyn Backend> = Arc::new(Unlisted(memory()));
    let three = on(&memory, 3);
    let queue = opened(&memory, 3, ReliableConfig::default()).await;
    let leasing = queue.leasing().unwrap();
    for has_record in [true, false] {
        for _ in 0..3 {
            queue.put(&["x".into()]).await.unwrap();
        }
        let held = leasing.lease(count(3), LEASE).await.unwrap().deliveries;
        assert_eq!(held.len(), 3);
        let stored = memory.open_stored(&name("jobs")).await.unwrap();
        assert_eq!(
            stored.is_some(),
            has_record,
            "an open handle makes no record"
        );
        assert!(
            three
                .reconfigure(&name("jobs"), &ReliableConfig::default().into())
                .await
                .unwrap()
        );
        let removed = three.remove(&name("jobs"), Removal::EvenIfLeased).await;
        assert!(removed.unwrap());
        for delivery in held {
            let settled = leasing.settle(&[Settlement::ack(delivery.receipt)]).await;
            assert_eq!(
                settled.unwrap(),
                [Settled::LeaseLost],
                "{:?}",
                delivery.receipt
            );
        }
        three
            .remove(&name("jobs"), Removal::EvenIfLeased)
            .await
            .unwrap();
    }
}

/// Partitions in which every call fails.
#[derive(Debug)]
struct Failing;

#[async_trait::async_trait]
impl call::Layer for Failing {
    async fn call(
        &self,
        partition: &QueueName,
        _: &Arc<dyn call::Service>,
        _: call::Call,
    ) -> Result<call::Answer> {
        Err(Error::new(ErrorKind::Unavailable, "it is down").with_queue(partition))
    }
}

#[tokio::test]
async fn an_error_of_a_partition_names_the_queue() {
    let queue = crate::reliable_behind(Failing, 3).await;
    let down = queue.push_one("x").await;
    is_refused(
        ErrorKind::Unavailable,
        down,
        &["queue jobs: partition jobs--0of3-", ": it is down"],
    );
    let bad = queue.lease(count(129), LEASE).await;
    is_refused(ErrorKind::Invalid, bad, &["queue jobs: ", "129"]);
}
