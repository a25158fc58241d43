//! Queues of published strategies, whose configuration is nowhere stored.

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use clap::ValueEnum;
use queue_core::{
    AnyQueue, Backend, Facts, Guarantees, QueueConfig, QueueInfo, QueueKind, QueueName, Result,
    StoredQueue, Timestamp,
};
use queue_redis::{RedisBackend, recipes};

/// The strategies of `queue_redis::recipes`, with their published keys.
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
    let published: Arc<dyn Backend> = match recipe {
        Recipe::ZsetString => Arc::new(redis.recipe(recipes::ZsetString::default())),
        Recipe::WaitActive => Arc::new(redis.recipe(recipes::WaitActive::default())),
        Recipe::ZsetJson => Arc::new(redis.recipe(recipes::ZsetJson::default())),
        Recipe::BlockingList => Arc::new(redis.recipe(recipes::BlockingList::default())),
        Recipe::PrivateBackup => Arc::new(redis.recipe(recipes::PrivateBackup::of_client(CLIENT))),
        Recipe::SharedBackup => Arc::new(redis.recipe(recipes::SharedBackup::default())),
        Recipe::Stream => Arc::new(redis.recipe(recipes::Stream::consumer(CLIENT))),
        Recipe::PriorityLists => Arc::new(redis.recipe(recipes::PriorityLists::default())),
        Recipe::FixedLength => Arc::new(redis.recipe(recipes::FixedLength::newest_last())),
        Recipe::DistinctZset => Arc::new(redis.recipe(recipes::DistinctZset::default())),
        Recipe::KeyLock => Arc::new(redis.recipe(recipes::KeyLock::default())),
        Recipe::Rotation => Arc::new(redis.recipe(recipes::Rotation::default())),
    };
    // The kind does not depend on the one that is asked for.
    let kind = published.guarantees(QueueKind::Reliable).kind;
    Arc::new(WithDefaults {
        redis,
        published,
        kind,
    })
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
