//! Configurations, confirmations, partitions and once stores.

use std::{sync::Arc, time::Duration};

use queue_core::{call::Front, *};
use queue_memory::MemoryBackend;

use crate::row::{Refuse, Row, Serve, in_time, row, times};

const SECOND: Duration = Duration::from_secs(1);

/// Opens a queue of this configuration, and moves a message or an item through it.
pub(crate) fn served(config: impl Into<QueueConfig>) -> Result<()> {
    let config = config.into();
    in_time(async {
        let backend = MemoryBackend::new();
        let name = QueueName::new("jobs")?;
        let queue = backend.open(&name, &config).await?;
        let front = Front::of(Arc::new(queue.clone()));
        if queue.kind() == QueueKind::Rotating {
            front.insert_one("x").await?;
            return front.visit(1, SECOND).await.map(drop);
        }
        queue.put(&[Push::new("x")]).await?;
        let delivery = front.receive(1, SECOND, SECOND).await?.remove(0);
        front.ack(delivery.receipt).await
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let parts = [
        leasing(),
        kinds(),
        confirmations(),
        openings(),
        openings_of_a_kind(),
        others(),
    ];
    parts.into_iter().flatten().collect()
}

/// Settings of all queues that lease.
fn leasing() -> Vec<Row> {
    let reliable = ReliableConfig::default;
    vec![
        row(
            "config: with_max_attempts",
            (0, Refuse("max_attempts is 0")),
            (u32::MAX, Serve),
            move |attempts| served(reliable().with_max_attempts(attempts)),
        ),
        row(
            "config: with_dead_letter_cap",
            (0, Serve),
            (u64::MAX, Refuse("dead_letter_cap of 18446744073709551615")),
            move |cap| served(reliable().with_dead_letter_cap(cap)),
        ),
        row(
            "config: with_at_once",
            (0, Refuse("an at_once of 0")),
            (u32::MAX, Serve),
            move |most| served(reliable().with_at_once(most)),
        ),
        times(
            "config: with_rate",
            Refuse("a rate's time of 0 ms"),
            Refuse("a rate's time of"),
            move |per| served(reliable().with_rate(1, per)),
        ),
        row(
            "config: new",
            (0, Refuse("a rate of 0 messages")),
            (u32::MAX, Refuse("a rate of 4294967295 messages")),
            move |most| {
                let mut config = reliable();
                config.leasing.rate = Some(LeaseRate::new(most, Duration::from_secs(1)));
                served(config)
            },
        ),
        row(
            "config: with_max_body",
            (0, Refuse("max_body of 0")),
            (usize::MAX, Refuse("max_body of")),
            move |bytes| served(reliable().with_max_body(bytes)),
        ),
    ]
}

/// Settings of one kind.
fn kinds() -> Vec<Row> {
    vec![
        row(
            "queue: with_max_body",
            (0, Refuse("max_body of 0")),
            (usize::MAX, Refuse("max_body of")),
            |bytes| served(QueueConfig::of(QueueKind::Priority, 1).with_max_body(bytes)),
        ),
        row(
            "queue: of",
            (0, Refuse("capacity of 0")),
            (usize::MAX, Refuse("a capacity of")),
            |capacity| served(QueueConfig::of(QueueKind::Bounded, capacity)),
        ),
        row(
            "bounded: new",
            (0, Refuse("capacity of 0")),
            (usize::MAX, Refuse("a capacity of")),
            |capacity| served(BoundedConfig::new(capacity)),
        ),
        row(
            "grouped: loose",
            (0, Refuse("per_group of 0")),
            (u32::MAX, Serve),
            |most| served(GroupedConfig::loose(most)),
        ),
        times(
            "grouped: with_group_rate",
            Refuse("a group's rate's time of 0 ms"),
            Refuse("a group's rate's time of"),
            |per| served(GroupedConfig::default().with_group_rate(1, per)),
        ),
        times(
            "priority: with_ageing",
            Refuse("ageing of 0 ms"),
            Refuse("ageing of"),
            |step| served(PriorityConfig::default().with_ageing(step)),
        ),
        times(
            "ring: with_pace",
            Refuse("pace of 0 ms"),
            Refuse("pace of"),
            |pace| served(RotatingConfig::default().with_pace(pace)),
        ),
        row(
            "ring: with_max_body",
            (0, Refuse("max_body of 0")),
            (usize::MAX, Refuse("max_body of")),
            |bytes| served(RotatingConfig::default().with_max_body(bytes)),
        ),
    ]
}

fn confirmations() -> Vec<Row> {
    vec![
        row(
            "confirmation: replicas",
            (0, Refuse("by 0 replicas")),
            (u16::MAX, Serve),
            |replicas| Confirmation::replicas(replicas).check(),
        ),
        times(
            "confirmation: within",
            Refuse("a wait for a confirmation of 0 ms"),
            Refuse("a wait for a confirmation of"),
            |within| Confirmation::flushed().within(within).check(),
        ),
    ]
}

/// The same settings, where a typed queue is opened.
fn openings() -> Vec<Row> {
    vec![
        row(
            "opening: max_attempts",
            (0, Refuse("max_attempts is 0")),
            (u32::MAX, Serve),
            |attempts| opened(|opening| opening.max_attempts(attempts)),
        ),
        row(
            "opening: dead_letter_cap",
            (0, Serve),
            (u64::MAX, Refuse("dead_letter_cap of 18446744073709551615")),
            |cap| opened(|opening| opening.dead_letter_cap(cap)),
        ),
        row(
            "opening: at_once",
            (0, Refuse("an at_once of 0")),
            (u32::MAX, Serve),
            |most| opened(|opening| opening.at_once(most)),
        ),
        times(
            "opening: rate",
            Refuse("a rate's time of 0 ms"),
            Refuse("a rate's time of"),
            |per| opened(|opening| opening.rate(1, per)),
        ),
        row(
            "opening: max_body",
            (0, Refuse("max_body of 0")),
            (usize::MAX, Refuse("max_body of")),
            |bytes| opened(|opening| opening.max_body(bytes)),
        ),
    ]
}

/// The same of one kind.
fn openings_of_a_kind() -> Vec<Row> {
    vec![
        times(
            "opening: ageing",
            Refuse("ageing of 0 ms"),
            Refuse("ageing of"),
            |step| {
                let queues = queues();
                let opening = queues.priority("jobs").ageing(step);
                in_time(async { opening.open::<u64>().await.map(drop) })
            },
        ),
        row(
            "opening: loose",
            (0, Refuse("per_group of 0")),
            (u32::MAX, Serve),
            |most| {
                let queues = queues();
                let opening = queues.grouped("jobs").loose(most);
                in_time(async { opening.open::<u64>().await.map(drop) })
            },
        ),
        times(
            "opening: group_rate",
            Refuse("a group's rate's time of 0 ms"),
            Refuse("a group's rate's time of"),
            |per| {
                let queues = queues();
                let opening = queues.grouped("jobs").group_rate(1, per);
                in_time(async { opening.open::<u64>().await.map(drop) })
            },
        ),
        times(
            "opening: pace",
            Refuse("pace of 0 ms"),
            Refuse("pace of"),
            |pace| {
                let queues = queues();
                let opening = queues.rotating("jobs").pace(pace);
                in_time(async { opening.open::<u64>().await.map(drop) })
            },
        ),
    ]
}

/// Partitions and once stores.
fn others() -> Vec<Row> {
    vec![
        row(
            "partitioned: new",
            (0, Refuse("0 partitions")),
            (usize::MAX, Refuse("partitions")),
            |partitions| divided(partitions, 0),
        ),
        row(
            "partitioned: beginning_at",
            (0, Serve),
            (usize::MAX, Serve),
            |first| divided(3, first),
        ),
        times(
            "once: with_claim",
            Refuse("a claim of 0 ms"),
            Refuse("a claim of"),
            |lease_time| once(|once| once.with_claim(lease_time)),
        ),
        times(
            "once: with_keep",
            Refuse("a time to keep of 0 ms"),
            Refuse("a time to keep of"),
            |keep| once(|once| once.with_keep(keep)),
        ),
    ]
}

fn queues() -> Queues {
    Queues::new(MemoryBackend::new())
}

/// Opens a reliable queue with a setting.
fn opened(
    set: impl for<'a> FnOnce(Opening<'a, dyn ReliableQueue>) -> Opening<'a, dyn ReliableQueue>,
) -> Result<()> {
    in_time(async { set(queues().reliable("jobs")).open::<u64>().await.map(drop) })
}

fn divided(partitions: usize, first: usize) -> Result<()> {
    in_time(async {
        let backend = Arc::new(MemoryBackend::new());
        let backend = Partitioned::new(backend, partitions)?.beginning_at(first);
        let name = QueueName::new("jobs")?;
        let queue = backend
            .open_reliable(&name, &ReliableConfig::default())
            .await?;
        queue.push_one("x").await.map(drop)
    })
}

fn once(set: impl FnOnce(Once) -> Once) -> Result<()> {
    in_time(async {
        let store = MemoryBackend::new()
            .open_once(&QueueName::new("done")?)
            .await?;
        let ran = set(Once::new(store)).run("key", |_| async { Ok(()) }).await;
        ran.map(drop)
    })
}
