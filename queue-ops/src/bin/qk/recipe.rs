//! Queues of published strategies, whose configuration is nowhere stored.

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use clap::ValueEnum;
use queue_core::{
    AnyQueue, Backend, Facts, Guarantees, QueueConfig, QueueInfo, QueueKind, QueueName, Result,
    StoredQueue, Timestamp,
};
use queue_recipes::{
    BlockingList, DistinctZset, FixedLength, KeyLock, PriorityLists, PrivateBackup, RecipeBackend,
    Rotation, SharedBackup, Stream, WaitActive, ZsetJson, ZsetString,
};
use queue_redis::RedisBackend;

/// The strategies of `queue_recipes`, with their published keys.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Recipe {
    ZsetString,
    WaitActive,
    ZsetJson,
    BlockingList,
    PrivateBackup,
    SharedBackup,
    Stream,
    PriorityLists,
    FixedLength,
    DistinctZset,
    KeyLock,
    Rotation,
}

/// The client of an operator, where a strategy has one for each client.
const CLIENT: &str = "qk";
/// The length of a bounded queue, which no strategy stores.
const CAPACITY: usize = 1_000;

/// The queues of a strategy on this server.
pub(crate) fn backend(redis: RedisBackend, recipe: Recipe) -> Arc<dyn Backend> {
    let published = match recipe {
        Recipe::ZsetString => on(&redis, ZsetString::default()),
        Recipe::WaitActive => on(&redis, WaitActive::default()),
        Recipe::ZsetJson => on(&redis, ZsetJson::default()),
        Recipe::BlockingList => on(&redis, BlockingList::default()),
        Recipe::PrivateBackup => on(&redis, PrivateBackup::of_client(CLIENT)),
        Recipe::SharedBackup => on(&redis, SharedBackup::default()),
        Recipe::Stream => on(&redis, Stream::consumer(CLIENT)),
        Recipe::PriorityLists => on(&redis, PriorityLists::default()),
        Recipe::FixedLength => on(&redis, FixedLength::newest_last()),
        Recipe::DistinctZset => on(&redis, DistinctZset::default()),
        Recipe::KeyLock => on(&redis, KeyLock::default()),
        Recipe::Rotation => on(&redis, Rotation::default()),
    };
    // The kind does not depend on the one that is asked for.
    let kind = published.guarantees(QueueKind::Reliable).kind;
    Arc::new(WithDefaults {
        redis,
        published,
        kind,
    })
}

fn on(redis: &RedisBackend, recipe: impl queue_recipes::Recipe) -> Arc<dyn Backend> {
    Arc::new(RecipeBackend::new(redis, recipe))
}

/// A strategy's queues, each opened with the default configuration.
#[derive(Debug)]
struct WithDefaults {
    redis: RedisBackend,
    published: Arc<dyn Backend>,
    kind: QueueKind,
}

#[async_trait]
impl Backend for WithDefaults {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        self.published.open(name, config).await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let config = QueueConfig::of(self.kind, CAPACITY);
        let queue = self.published.open(name, &config).await?;
        Ok(Some(StoredQueue::new(config, queue)))
    }

    fn guarantees(&self, kind: QueueKind) -> Guarantees {
        self.published.guarantees(kind)
    }

    async fn now(&self) -> Result<Timestamp> {
        self.redis.now().await
    }

    /// The facts of the server.
    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let facts = self.redis.facts(name).await?;
        let mut own = Facts::default();
        own.server = facts.server;
        Ok(own)
    }

    fn warnings(&self) -> Vec<String> {
        self.published.warnings()
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        self.published.queues(after, limit).await
    }
}
