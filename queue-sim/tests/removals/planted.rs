//! Bugs that the checks must find.

use std::{num::NonZeroUsize, sync::Arc};

use queue_core::*;
use queue_sim::{
    plan::Decisions,
    sim::Sim,
    wire::{RedisEnvironment, Reply, Request, Rewrite, Steps},
    world::MemoryEnvironment,
};

use crate::{memory, partitioned, scene::scene};

/// The number of seeds within which the checks must find a bug.
const HUNT: u64 = 200;

/// The rule that a bug breaks, and how. Nothing is shrunk.
fn found(scene: &Sim) -> (String, String) {
    let found = (0..HUNT).find_map(|seed| {
        let run = scene.play(&Decisions::seeded(seed));
        let finding = scene.findings(&run).into_iter().next()?;
        Some((finding.rule.to_string(), format!("seed {seed}: {finding}")))
    });
    let found = found.expect("it is found");
    println!("{}", found.1);
    found
}

/// Adds no entry to the list before a queue is created.
#[derive(Debug)]
struct ListsLate;

#[async_trait::async_trait]
impl Rewrite for ListsLate {
    async fn rewrite(&self, request: Request, steps: &Steps<'_>) -> Option<Reply> {
        let is_opening = request.words.last()?.ends_with(b" opening");
        if !is_opening || !request.words[0].eq_ignore_ascii_case(b"ZADD") {
            return None;
        }
        Some(steps.command(&["ZCARD", "qk:queues"]).await)
    }
}

#[test]
fn a_queue_that_is_made_without_a_mark_is_found() {
    const STORED: &str = "call('HSET', KEYS[1], 'config', ARGV[2])";
    let unmarked = |_: &str, text: &str| {
        let without =
            "call('HSET', KEYS[1], 'config', (string.gsub(ARGV[2], ' unlisted=%x+$', '')))";
        text.contains(STORED).then(|| text.replace(STORED, without))
    };
    let environment = move || {
        let builder = RedisEnvironment::builder().with_scripts(unmarked);
        let builder = builder.with_rewrite(ListsLate);
        builder.start().expect("a redis-server")
    };
    let (rule, how) = found(&scene("unmarked queues").backend(environment));
    assert_eq!(rule, "operators", "{how}");
}

/// A removal that leaves one partition out.
#[derive(Debug)]
struct LeavesPart(Arc<dyn Backend>);

#[async_trait::async_trait]
impl Backend for LeavesPart {
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
        match name.as_str().contains("--1of3-") {
            true => Ok(true),
            false => self.0.remove(name, removal).await,
        }
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.0.queues(after, limit).await
    }
}

#[test]
fn a_partition_that_survives_a_removal_is_found() {
    let environment = || {
        let backend = || partitioned(Arc::new(LeavesPart(memory())));
        MemoryEnvironment::over(backend).without_truth()
    };
    let (rule, how) = found(&scene("surviving partitions").backend(environment));
    assert!(["R1", "operators"].contains(&&*rule), "{how}");
}
