//! A recipe as a backend.

use std::{future::Future, num::NonZeroUsize, pin::Pin, sync::Arc};

use async_trait::async_trait;
use queue_core::{
    AnyQueue, Backend, Guarantees, QueueConfig, QueueInfo, QueueKind, QueueName, Result,
    call::Service, limits,
};
use queue_redis::RedisBackend;

use crate::{server::Connection, shell::Shell, strategy::Strategy};

/// A published strategy, with its keys and intervals.
///
/// Only this library implements it; programs choose an implementation and set it up.
pub trait Recipe: std::fmt::Debug + Send + Sync + 'static {
    /// The features of its queues, and the rules that they break.
    fn guarantees(&self) -> Guarantees;

    /// Checks the settings. An `Invalid` error names the bad value and the allowed range.
    #[doc(hidden)]
    fn check(&self) -> Result<()> {
        Ok(())
    }

    #[doc(hidden)]
    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a>;
}

/// The future that opens a recipe's queue.
pub type Opened<'a> = Pin<Box<dyn Future<Output = Result<Arc<dyn Service>>> + Send + 'a>>;

/// The queue to open and its server. Only [`RecipeBackend`] makes one.
#[derive(Debug)]
pub struct OpenTarget<'a> {
    redis: &'a RedisBackend,
    name: &'a QueueName,
    config: &'a QueueConfig,
}

impl<'a> OpenTarget<'a> {
    /// The key that is `set`, or else the queue's name.
    pub(crate) fn key(&self, set: Option<&String>) -> String {
        set.map_or_else(|| self.name.to_string(), String::clone)
    }

    /// The capacity of a bounded queue's configuration.
    pub(crate) const fn capacity(&self) -> usize {
        match self.config {
            QueueConfig::Bounded(config) => config.capacity,
            _ => 0,
        }
    }

    /// The number of deliveries before a message is dead.
    pub(crate) fn max_attempts(&self) -> u32 {
        let leasing = self.config.leasing();
        leasing.map_or(u32::MAX, |leasing| leasing.max_attempts)
    }

    /// Opens the strategy that `make` makes for one handle. On a cluster it uses the node that has `key`, one of the
    /// strategy's keys.
    pub(crate) fn shell<S: Strategy>(
        self,
        guarantees: Guarantees,
        key: String,
        make: impl FnOnce(&Connection) -> S + Send + 'a,
    ) -> Opened<'a> {
        Box::pin(async move {
            let server = Connection::of(self.redis, key);
            let strategy = make(&server);
            let strategy = Box::new(strategy);
            let max_body = self.config.max_body();
            let shell = Shell::open(self.name, guarantees, max_body, server, strategy).await?;
            Ok(Arc::new(shell) as Arc<dyn Service>)
        })
    }
}

/// A recipe's queues on a server: a backend that has only the recipe's kind.
///
/// A program uses it like any backend: it works with typed handles, workers, layers and the simulator. Calls for a
/// feature that the strategy lacks fail with `Configuration` or `Invalid` before anything is sent, and the error names
/// the feature; [`Backend::guarantees`] lists these features. The configuration is not stored: each handle has its own
/// capacity and attempts.
///
/// ```no_run
/// use queue_core::{Queues, Result};
/// use queue_recipes::{PrivateBackup, RecipeBackend};
/// use queue_redis::RedisBackend;
///
/// # async fn f() -> Result<()> {
/// let redis = RedisBackend::connect("redis://127.0.0.1/").await?;
/// let queues = Queues::new(RecipeBackend::new(&redis, PrivateBackup::of_client("worker-7")));
/// // The list `jobs`, and the backup `{jobs}:backup:worker-7`.
/// let jobs = queues.reliable("jobs").open::<String>().await?;
/// jobs.push("charge order 42").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RecipeBackend<R> {
    redis: RedisBackend,
    recipe: R,
}

impl<R: Recipe> RecipeBackend<R> {
    /// The queues of this recipe, on the server and the connections of `redis`.
    ///
    /// Their keys have the strategy's names: the prefix of `redis` does not apply, and [`queues`](Backend::queues) does
    /// not list them. On a cluster all keys of a queue have to be in [one slot](crate#on-a-cluster).
    pub fn new(redis: &RedisBackend, recipe: R) -> Self {
        let redis = redis.clone();
        Self { redis, recipe }
    }
}

#[async_trait]
impl<R: Recipe> Backend for RecipeBackend<R> {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        config.check()?;
        let guarantees = self.recipe.guarantees();
        let checked = guarantees.check_config(config);
        checked.map_err(|error| error.with_queue(name))?;
        let kind = guarantees.kind;
        if config.kind() != kind {
            return Err(config.kind().missing(name));
        }
        let opening = OpenTarget {
            redis: &self.redis,
            name,
            config,
        };
        let opened = match self.recipe.check() {
            Ok(()) => self.recipe.open(opening).await,
            Err(error) => Err(error),
        };
        let service = opened.map_err(|error| error.with_queue(name))?;
        Ok(AnyQueue::behind(service, kind))
    }

    fn guarantees(&self, _kind: QueueKind) -> Guarantees {
        self.recipe.guarantees()
    }

    /// The warnings of the backend whose server this is.
    fn warnings(&self) -> Vec<String> {
        Backend::warnings(&self.redis)
    }

    /// Empty: nothing shows which keys of a server belong to a strategy's queues.
    async fn queues(
        &self,
        _after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        Ok(Vec::new())
    }
}
