//! Listings of a backend's queues, with the partitions of a queue as one queue.

use std::{collections::BTreeMap, num::NonZeroUsize};

use super::{
    looking::sum_of_counters,
    names::{self, MAX_PARTITIONS, PartitionName},
    record,
};
use crate::{Backend, QueueInfo, QueueKind, QueueName, Result, limits};

/// A page with room for all partitions of a queue, and for the next queue.
const PAGE: NonZeroUsize = NonZeroUsize::new(MAX_PARTITIONS + 1).unwrap();
const LONGEST_PAGE: NonZeroUsize = NonZeroUsize::new(limits::MAX_PAGE).unwrap();

/// A partition of a queue that exists.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) info: QueueInfo,
    /// The number of partitions in the partition's name.
    pub(super) of: usize,
}

/// The existing partitions of a queue, also those of another number than the stored one.
pub(super) async fn partitions(backend: &dyn Backend, name: &QueueName) -> Result<Vec<Listed>> {
    let mut partitions = Vec::new();
    let Some((mut after, beyond)) = names::range(name) else {
        return Ok(partitions);
    };
    loop {
        let page = backend.queues(Some(&after), PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(partitions);
        };
        after = last.name.clone();
        let partition = |info: QueueInfo| {
            let partition = PartitionName::parse(&info.name)?;
            (partition.queue == *name).then_some(Listed {
                info,
                of: partition.of,
            })
        };
        partitions.extend(page.into_iter().filter_map(partition));
        if *after.as_str() >= *beyond {
            return Ok(partitions);
        }
    }
}

/// Up to `limit` queues behind `after`, by name.
pub(super) async fn queues(
    backend: &dyn Backend,
    after: Option<&QueueName>,
    limit: NonZeroUsize,
) -> Result<Vec<QueueInfo>> {
    limits::check_page(limit.get())?;
    let mut queues = BTreeMap::<QueueName, QueueInfo>::new();
    let (mut from, more) = (after.cloned(), limit.saturating_add(PAGE.get()));
    loop {
        let page = backend
            .queues(from.as_ref(), more.min(LONGEST_PAGE))
            .await?;
        let Some(last) = page.last() else {
            break;
        };
        from = Some(last.name.clone());
        for info in page {
            match PartitionName::parse(&info.name) {
                // A page may begin between a queue and its partitions.
                Some(partition) if after.is_some_and(|after| partition.queue <= *after) => {}
                Some(partition) => add(&mut queues, partition.queue, &info),
                None if is_record(backend, &info).await? => {}
                None => {
                    queues.insert(info.name.clone(), info);
                }
            }
        }
        let last = queues.keys().nth(limit.get() - 1);
        let beyond = last.map(names::beyond);
        if beyond.is_some_and(|beyond| from.as_ref().is_some_and(|from| *from.as_str() >= *beyond))
        {
            break;
        }
    }
    Ok(queues.into_values().take(limit.get()).collect())
}

/// Adds a partition to its queue.
fn add(queues: &mut BTreeMap<QueueName, QueueInfo>, name: QueueName, partition: &QueueInfo) {
    let Some(queue) = queues.get_mut(&name) else {
        queues.insert(
            name.clone(),
            QueueInfo {
                name,
                ..partition.clone()
            },
        );
        return;
    };
    let counters = queue.counters.zip(partition.counters);
    queue.counters = counters.map(|(one, other)| sum_of_counters(one, other));
}

async fn is_record(backend: &dyn Backend, info: &QueueInfo) -> Result<bool> {
    if info.kind != QueueKind::Rotating {
        return Ok(false);
    }
    // A ring that cannot be read is listed as a ring.
    let stored = backend.open_stored(&info.name).await.ok().flatten();
    Ok(stored.is_some_and(|stored| record::partitions(&stored.config).is_some()))
}
