//! Opening queues, and listing them.

use std::{num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use queue_core::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Confirmation, Error, Facts, OnceStore, Outcome,
    QueueConfig, QueueInfo, QueueKind, QueueName, Removal, Result, RotatingConfig, StoredQueue,
    Timestamp, limits,
};

use super::{RedisBackend, facts::Servers};
use crate::{
    keys,
    queue::{Handle, Stored, config, listing},
    verbs::{self, Bounded, Once, Queue},
};

/// Number of listed queues whose counters are read at the same time, sharing round trips.
const AT_ONCE: usize = 128;
/// The least number of entries to read: some may belong to removed queues.
const SHORTEST_PAGE: usize = 8;

impl RedisBackend {
    /// A handle to the queue, created if it does not exist, and the stored configuration. Does not compare the stored
    /// configuration with `config`.
    async fn handle(&self, name: &QueueName, config: &QueueConfig) -> Result<(Handle, Stored)> {
        config.check()?;
        let capacity = match config {
            QueueConfig::Bounded(config) => Some(config.capacity),
            _ => None,
        };
        let text = config::text(config);
        let handle = Handle::new(&self.context, name, config.kind(), text, capacity);
        let stored = handle.open().await?;
        Ok((handle, stored))
    }

    async fn queue(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let (handle, stored) = self.handle(name, config).await?;
        config.check_stored(&stored.read()?, stored.resized)?;
        verbs::behind(handle, config)
    }

    /// A handle to the queue as it is stored, if there is one, and its configuration.
    pub(super) async fn stored(&self, name: &QueueName) -> Result<Option<(Handle, QueueConfig)>> {
        let Some(stored) = self.read(name).await? else {
            return Ok(None);
        };
        let config = stored.read()?;
        let handle = self.handle_to(name, &config, stored);
        Ok(Some((handle, config)))
    }

    /// A handle to a queue as it is stored.
    fn handle_to(&self, name: &QueueName, config: &QueueConfig, stored: Stored) -> Handle {
        let capacity = usize::try_from(stored.capacity).ok();
        Handle::new(&self.context, name, config.kind(), stored.config, capacity)
    }

    async fn change(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        config.check()?;
        // Between two steps, a queue may be removed and another created.
        loop {
            let Some(stored) = self.read(name).await? else {
                return Ok(false);
            };
            stored.check_kind(config.kind())?;
            let handle = self.handle_to(name, config, stored).that_only_looks();
            if change(&handle, config).await? {
                return Ok(true);
            }
        }
    }

    pub(super) async fn read(&self, name: &QueueName) -> Result<Option<Stored>> {
        let mut read = redis::cmd("HMGET");
        let meta = keys::meta(self.prefix(), name);
        read.arg(&meta).arg("config").arg("capacity");
        let client = self.client().at(&meta);
        let fields = client.ask(&read, "the stored configuration").await?;
        let (Some(config), capacity): (_, Option<u64>) = fields else {
            return Ok(None);
        };
        Ok(Some(Stored::new(config, capacity.unwrap_or(0), false)))
    }

    /// A page of the list of queues, beginning at a start as Redis writes it. Returns each name once, and the start of
    /// the next page if there may be more. Skips entries that other programs put there.
    async fn listed(
        &self,
        start: &[u8],
        limit: usize,
    ) -> Result<(Vec<(QueueName, QueueKind)>, Option<Vec<u8>>)> {
        let mut command = redis::cmd("ZRANGEBYLEX");
        command.arg(keys::registry(self.prefix()));
        command.arg(start).arg("+");
        command.arg("LIMIT").arg(0).arg(limit);
        let entries: Vec<Vec<u8>> = self.client().ask(&command, listing::LIST).await?;
        let queues = entries.iter().map(|entry| listing::queue_of(entry));
        let mut found: Vec<_> = queues.flatten().collect();
        found.dedup_by(|next, one| next.0 == one.0);
        let last = entries.last().filter(|_| entries.len() == limit);
        let next = last.map(|last| match listing::queue_of(last) {
            Some((name, _)) => listing::behind(&name),
            None => [b"(", &last[..]].concat(),
        });
        Ok((found, next))
    }

    /// The counters of a queue that the list names; `None` if there is no such queue. Only transient errors are returned:
    /// one unreadable queue must not hide the others.
    async fn info(&self, name: QueueName, listed: QueueKind) -> Result<Option<QueueInfo>> {
        let named = |error: Error| error.with_queue(&name);
        let read = match self.stored(&name).await {
            Ok(None) => return Ok(None),
            Ok(Some((handle, config))) => match verbs::behind(handle.that_only_looks(), &config) {
                Ok(queue) => {
                    let counters = queue.counters().await;
                    counters.map(|counters| (config.kind(), counters))
                }
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        let (kind, counters) = match read {
            Ok((kind, counters)) => (kind, Some(counters)),
            Err(error) if error.is_transient() => return Err(named(error)),
            Err(_) => match self.read(&name).await {
                Ok(None) => return Ok(None),
                Err(error) if error.is_transient() => return Err(named(error)),
                // The stored configuration is damaged, or of another version.
                _ => (listed, None),
            },
        };
        Ok(Some(QueueInfo::new(name, kind, counters)))
    }

    async fn resized(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let (capacity, max_body) = (config.capacity, config.leasing.max_body);
        let config = config.clone().into();
        let (handle, stored) = self.handle(name, &config).await?;
        // The stored capacity is about to become this one, so it is not compared.
        config.check_stored(&stored.read()?, true)?;
        verbs::ensure_capacity(&handle, capacity).await?;
        Ok(Arc::new(Queue::<Bounded>::new(handle, max_body)))
    }
}

#[async_trait]
impl Backend for RedisBackend {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let opened = self.queue(name, config).await;
        opened.map_err(|error| error.with_queue(name))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let opened = self.resized(name, config).await;
        opened.map_err(|error| error.with_queue(name))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let changed = self.change(name, config).await;
        changed.map_err(|error| error.with_queue(name))
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let stored = self.stored(name).await;
        let stored = stored.map_err(|error| error.with_queue(name))?;
        let Some((handle, config)) = stored else {
            return Ok(None);
        };
        let queue = verbs::behind(handle, &config)?;
        Ok(Some(StoredQueue::new(config, queue)))
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let removed = self.take_away(name, removal).await;
        removed.map_err(|error| error.with_queue(name))
    }

    async fn confirmed(&self, confirmation: Confirmation) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(self.confirming(confirmation).await?))
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        Ok(Arc::new(Once::open(&self.context, name).await?))
    }

    async fn now(&self) -> Result<Timestamp> {
        self.client().time().await
    }

    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let facts = self.facts_of(name, &Servers::new()).await;
        facts.map_err(|error| error.with_queue(name))
    }

    /// The state of a server is read once for all of its queues.
    async fn facts_of_each(&self, names: &[QueueName]) -> Vec<Result<Facts>> {
        let servers = self.servers_of(names).await;
        let servers = &servers;
        let facts = names.iter().cloned().map(|name| async move {
            let facts = self.facts_of(&name, servers).await;
            facts.map_err(|error| error.with_queue(&name))
        });
        stream::iter(facts).buffered(AT_ONCE).collect().await
    }

    /// [`Health::warnings`](crate::Health::warnings), each with the server's address.
    fn warnings(&self) -> Vec<String> {
        let nodes = self.client().servers().nodes();
        let reported = nodes.iter().flat_map(|node| {
            let warnings = node.warnings().into_iter();
            warnings.map(|found| format!("{}: {found}", node.address()))
        });
        reported.collect()
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        let mut start = after.map_or_else(|| b"-".to_vec(), listing::behind);
        let mut found = Vec::new();
        loop {
            let left = limit.get() - found.len();
            let (listed, next) = self.listed(&start, left.max(SHORTEST_PAGE)).await?;
            let infos = listed.into_iter().map(|(name, kind)| self.info(name, kind));
            let infos: Vec<_> = stream::iter(infos).buffered(AT_ONCE).try_collect().await?;
            found.extend(infos.into_iter().flatten().take(left));
            match next {
                Some(next) if found.len() < limit.get() => start = next,
                _ => return Ok(found),
            }
        }
    }
}

/// Changes the configuration of an existing queue; false if there is none.
async fn change(handle: &Handle, config: &QueueConfig) -> Result<bool> {
    let new = config::text(config);
    let script = verbs::reconfigure_script(config.kind(), &handle.name)?;
    let call = |new: &str| {
        let call = handle.prepare(script).with(new);
        call.with(limits::MAX_REPACED)
    };
    let first = match config {
        QueueConfig::Bounded(config) => verbs::reconfigure(handle, config, &new).await?,
        _ => match handle.run_if_there(&call(&new)).await? {
            Some(mut reply) => Some(reply.number()?),
            None => None,
        },
    };
    let Some(mut left) = first else {
        return Ok(false);
    };
    // One call trims only as many dead letters as the server can in a moment. The first call has stored the
    // configuration, so a later failure leaves the change half-done.
    while left > 0 {
        let called = handle.run_if_there(&call("")).await;
        let called = called.map_err(|error| error.with_outcome(Outcome::Unknown));
        left = match called? {
            Some(mut reply) => reply.number()?,
            // The queue was removed after the change.
            None => 0,
        };
    }
    match (config, left.unsigned_abs()) {
        (QueueConfig::Rotating(_), items @ 1..) => Err(RotatingConfig::pace_of_many(items)),
        (config, kept @ 1..) => Err(config.order_of_kept(kept)),
        _ => Ok(true),
    }
}
