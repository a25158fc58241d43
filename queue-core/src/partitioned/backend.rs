//! The backend: it opens, changes and removes all partitions of a queue as one.

use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc};

use async_trait::async_trait;
use futures_util::future::try_join_all;

use super::{
    Partitioned, guarantees, listing,
    names::{self, of_partition},
    partitions::Partitions,
    record,
    round_robin::RoundRobin,
    shares,
    split::half_way,
};
use crate::{
    AnyQueue, Backend, BoundedConfig, BoundedQueue, Confirmation, Error, ErrorKind, Facts,
    Guarantees, OnceStore, QueueConfig, QueueInfo, QueueKind, QueueName, Removal, Result,
    StoredQueue, Timestamp, backend::open_or_reconfigure, config_mismatch,
};

/// The queue that exists under a name.
#[derive(Debug)]
enum Existing {
    Nothing,
    /// A queue without partitions.
    Whole(Box<StoredQueue>),
    Partitions(usize),
}

/// Whether an open sets a bounded queue's capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capacity {
    Compared,
    Set,
}

impl Partitioned {
    /// Finds the queue under the name. After a removal or a flush, an open handle creates its partition
    /// again, but not the record. So without a record this looks for partitions in the list, and by the names
    /// that follow from this backend's number.
    async fn find(&self, name: &QueueName) -> Result<Existing> {
        let found = self.find_listed(name).await?;
        if !matches!(found, Existing::Nothing) {
            return Ok(found);
        }
        let partitions = names::all_partitions(name, self.partitions)?;
        let stored = try_join_all(
            partitions
                .iter()
                .map(|partition| self.backend.open_stored(partition)),
        )
        .await?;
        Ok(match stored.iter().any(Option::is_some) {
            true => Existing::Partitions(self.partitions),
            false => Existing::Nothing,
        })
    }

    /// Finds the queue under the name by its record, or else by the list.
    async fn find_listed(&self, name: &QueueName) -> Result<Existing> {
        if let Some(stored) = self.backend.open_stored(name).await? {
            return Ok(match record::partitions(&stored.config) {
                Some(partitions) => Existing::Partitions(partitions),
                None => Existing::Whole(Box::new(stored)),
            });
        }
        let listed = listing::partitions(&*self.backend, name).await?;
        Ok(listed.first().map_or(Existing::Nothing, |partition| {
            Existing::Partitions(partition.of)
        }))
    }

    /// Checks the number of partitions under the name against this backend's.
    async fn check_partitions(&self, name: &QueueName) -> Result<()> {
        // Unlisted partitions of this backend's own number agree with it.
        let stored = match self.find_listed(name).await? {
            Existing::Nothing => return Ok(()),
            Existing::Whole(_) => 1,
            Existing::Partitions(stored) => stored,
        };
        if stored == self.partitions {
            return Ok(());
        }
        Err(config_mismatch("number of partitions", stored, self.partitions).with_queue(name))
    }

    async fn open_with(
        &self,
        name: &QueueName,
        config: &QueueConfig,
        capacity: Capacity,
    ) -> Result<AnyQueue> {
        names::check(name, self.partitions)?;
        if self.partitions == 1 {
            return match self.open_one(name, config, capacity).await {
                Err(error) if error.kind() == ErrorKind::ConfigMismatch => {
                    self.check_partitions(name).await?;
                    Err(error)
                }
                opened => opened,
            };
        }
        if config.kind() == QueueKind::Rotating {
            let message = "a ring has one order and is not divided into partitions: open it on the \
                           backend itself";
            return Err(Error::new(ErrorKind::Configuration, message).with_queue(name));
        }
        let configs = shares::of_config(config, name, self.partitions)?;
        self.check_partitions(name).await?;
        if let Err(error) = self.backend.open(name, &record::of(self.partitions)).await {
            // Another program opened it first.
            self.check_partitions(name).await?;
            return Err(error);
        }
        match self.open_partitions(name, &configs, capacity).await {
            Ok(queues) => Ok(self.joined(name, config, queues)),
            Err(error) if error.kind() == ErrorKind::ConfigMismatch => {
                self.check_stored(name, config).await?;
                Err(error.with_queue(name))
            }
            // The record, partitions or their capacities may be new.
            Err(error) => Err(half_way(error, true)),
        }
    }

    async fn open_one(
        &self,
        name: &QueueName,
        config: &QueueConfig,
        capacity: Capacity,
    ) -> Result<AnyQueue> {
        match config {
            QueueConfig::Bounded(config) if capacity == Capacity::Set => {
                Ok(self.backend.open_or_resize(name, config).await?.into())
            }
            config => self.backend.open(name, config).await,
        }
    }

    /// Opens the first partition before the others. So one step decides between two programs that open the
    /// queue for the first time with different configurations.
    async fn open_partitions(
        &self,
        name: &QueueName,
        configs: &[QueueConfig],
        capacity: Capacity,
    ) -> Result<Vec<AnyQueue>> {
        let open = |partition: usize| async move {
            let own = of_partition(name, partition, configs.len())?;
            self.open_one(&own, &configs[partition], capacity).await
        };
        let mut queues = vec![open(0).await?];
        queues.append(&mut try_join_all((1..configs.len()).map(open)).await?);
        Ok(queues)
    }

    fn joined(&self, name: &QueueName, config: &QueueConfig, queues: Vec<AnyQueue>) -> AnyQueue {
        let kind = config.kind();
        let partitions = Partitions {
            name: name.clone(),
            kind,
            max_body: config.max_body(),
            round_robin: RoundRobin::new(queues.len(), self.first),
            queues,
            confirmations: Arc::default(),
        };
        AnyQueue::behind(Arc::new(partitions), kind)
    }

    /// Checks a capacity against that of the whole queue, which no partition knows.
    async fn check_stored(&self, name: &QueueName, config: &QueueConfig) -> Result<()> {
        let stored = self.open_stored(name).await.ok().flatten();
        match (config, stored.map(|stored| stored.config)) {
            (QueueConfig::Bounded(asked), Some(QueueConfig::Bounded(stored))) => asked
                .check_stored(&stored, false)
                .map_err(|error| error.with_queue(name)),
            _ => Ok(()),
        }
    }

    /// The partitions as they are stored; none if the queue has none.
    async fn stored_partitions(&self, name: &QueueName, of: usize) -> Result<Vec<StoredQueue>> {
        let open = |partition| async move {
            self.backend
                .open_stored(&of_partition(name, partition, of)?)
                .await
        };
        let stored: Vec<Option<StoredQueue>> = try_join_all((0..of).map(open)).await?;
        let there = stored.iter().flatten().count();
        if there == 0 || there == of {
            return Ok(stored.into_iter().flatten().collect());
        }
        let message = format!(
            "{there} of its {of} partitions exist: a first open was cut short, or a node has lost the \
             others; open it with its configuration, which creates them again"
        );
        Err(Error::new(ErrorKind::Configuration, message).with_queue(name))
    }

    /// Refuses another order while any partition has messages of the old one, before any partition is changed.
    async fn check_order(&self, name: &QueueName, config: &QueueConfig) -> Result<()> {
        if !matches!(config, QueueConfig::Priority(_) | QueueConfig::Grouped(_)) {
            return Ok(());
        }
        let mut kept = 0;
        for partition in listing::partitions(&*self.backend, name).await? {
            let stored = self.backend.open_stored(&partition.info.name).await?;
            if let (Some(stored), Some(counters)) = (stored, partition.info.counters) {
                kept += config.kept_from(&stored.config, &counters.depth);
            }
        }
        match kept {
            0 => Ok(()),
            kept => Err(config.order_of_kept(kept)),
        }
    }

    async fn stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let of = match self.find(name).await? {
            Existing::Nothing => return Ok(None),
            Existing::Whole(stored) => return Ok(Some(*stored)),
            Existing::Partitions(of) => of,
        };
        let stored = self.stored_partitions(name, of).await?;
        let Some(config) = shares::whole(stored.iter().map(|partition| &partition.config)) else {
            return Ok(None);
        };
        let queues = stored
            .into_iter()
            .map(|partition| partition.queue)
            .collect();
        let queue = self.joined(name, &config, queues);
        Ok(Some(StoredQueue { config, queue }))
    }

    /// Removes every partition that may exist, each by its name, and then the queue or record under the
    /// queue's own name. The list may lack a partition: a program that created it again may have died before
    /// it was listed. So each partition of the stored number and of this backend's number is removed, listed
    /// or not. The list adds partitions of a number that was stored before.
    async fn take_away(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let stored = self.backend.open_stored(name).await?;
        let stored = stored.and_then(|stored| record::partitions(&stored.config));
        let listed = listing::partitions(&*self.backend, name).await?;
        let counters = listed
            .iter()
            .filter_map(|partition| partition.info.counters);
        removal.check(counters.map(|counters| counters.depth.leased).sum())?;
        let mut partitions: BTreeSet<QueueName> = listed
            .into_iter()
            .map(|partition| partition.info.name)
            .collect();
        for of in stored.into_iter().chain([self.partitions]) {
            partitions.extend(names::all_partitions(name, of)?);
        }
        let mut removed = false;
        for partition in &partitions {
            let gone = self.backend.remove(partition, removal).await;
            removed |= gone.map_err(|error| half_way(error, removed))?;
        }
        // The record is removed last: as long as it exists, a repeat finds the partitions that are left.
        let gone = self.backend.remove(name, removal).await;
        Ok(gone.map_err(|error| half_way(error, removed))? || removed)
    }

    async fn change(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        config.check()?;
        let of = match self.find(name).await? {
            Existing::Nothing => return Ok(false),
            Existing::Whole(_) => return self.backend.reconfigure(name, config).await,
            Existing::Partitions(of) => of,
        };
        let configs = shares::of_config(config, name, of)?;
        self.check_order(name, config).await?;
        let mut changed = false;
        for (partition, config) in names::all_partitions(name, of)?.iter().zip(&configs) {
            let one = self.backend.reconfigure(partition, config).await;
            changed |= one.map_err(|error| half_way(error, changed))?;
        }
        Ok(changed)
    }
}

#[async_trait]
impl Backend for Partitioned {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let opened = self.open_with(name, config, Capacity::Compared).await;
        opened.map_err(|error| error.of_partition(name))
    }

    async fn open_or_resize(
        &self,
        name: &QueueName,
        config: &BoundedConfig,
    ) -> Result<Arc<dyn BoundedQueue>> {
        let config = config.clone().into();
        let opened = self.open_with(name, &config, Capacity::Set).await;
        match opened.map_err(|error| error.of_partition(name))? {
            AnyQueue::Bounded(queue) => Ok(queue),
            _ => Err(QueueKind::Bounded.missing(name)),
        }
    }

    /// Refuses another number of partitions before it changes anything.
    async fn open_or_reconfigure(
        &self,
        name: &QueueName,
        config: &QueueConfig,
    ) -> Result<AnyQueue> {
        self.check_partitions(name).await?;
        open_or_reconfigure(self, name, config).await
    }

    async fn open_stored(&self, name: &QueueName) -> Result<Option<StoredQueue>> {
        let stored = self.stored(name).await;
        stored.map_err(|error| error.of_partition(name))
    }

    async fn remove(&self, name: &QueueName, removal: Removal) -> Result<bool> {
        let removed = self.take_away(name, removal).await;
        removed.map_err(|error| error.of_partition(name))
    }

    async fn reconfigure(&self, name: &QueueName, config: &QueueConfig) -> Result<bool> {
        let changed = self.change(name, config).await;
        changed.map_err(|error| error.of_partition(name))
    }

    /// Each partition confirms a call's changes in it, and the weakest result counts.
    async fn confirmed(&self, confirmation: Confirmation) -> Result<Arc<dyn Backend>> {
        let backend = self.backend.confirmed(confirmation).await?;
        Ok(Arc::new(Self { backend, ..*self }))
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        self.backend.open_once(name).await
    }

    async fn now(&self) -> Result<Timestamp> {
        self.backend.now().await
    }

    /// A consumer of a queue of several partitions waits at each of them, so the most that wait at one are counted.
    async fn facts(&self, name: &QueueName) -> Result<Facts> {
        let partitions = match self.find(name).await? {
            Existing::Partitions(partitions) => names::all_partitions(name, partitions)?,
            Existing::Whole(_) | Existing::Nothing => return self.backend.facts(name).await,
        };
        let facts = partitions.iter().map(|one| self.backend.facts(one));
        let all = try_join_all(facts).await?;
        let mut all = all.into_iter();
        let mut whole = all.next().unwrap_or_default();
        for facts in all {
            whole.waiting = whole.waiting.max(facts.waiting);
            whole.waiting_for_room = whole.waiting_for_room.max(facts.waiting_for_room);
            whole.waiting_holders.extend(facts.waiting_holders);
        }
        whole.waiting_holders.sort_unstable();
        whole.waiting_holders.dedup();
        Ok(whole)
    }

    fn guarantees(&self, kind: QueueKind) -> Guarantees {
        let whole = self.backend.guarantees(kind);
        match self.partitions {
            1 => whole,
            _ => guarantees::divided(whole),
        }
    }

    fn warnings(&self) -> Vec<String> {
        self.backend.warnings()
    }

    async fn queues(
        &self,
        after: Option<&QueueName>,
        limit: NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        listing::queues(&*self.backend, after, limit).await
    }
}
