//! Queues that are divided into partitions, so that one queue uses a whole cluster.

mod backend;
mod confirming;
mod guarantees;
mod ids;
mod key;
mod leasing;
mod listing;
mod looking;
mod names;
mod partitions;
mod pushing;
mod record;
mod round_robin;
mod service;
mod settling;
mod shares;
mod slot;
mod split;
mod waiting;

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use crate::{Backend, Error, Push, QueueConfig, Result};

/// A backend whose queues are divided into partitions, so that one queue uses a whole cluster. Each partition
/// is a queue of another backend. The slots of a Redis Cluster are divided evenly among the partitions, and
/// each partition's name hashes to a slot of its own share. So all nodes have equally many partitions, if the
/// number of partitions is a multiple of the number of nodes.
///
/// ```
/// use std::sync::Arc;
/// use queue_core::{Backend, Partitioned, Queues, Result};
///
/// # async fn example(backend: Arc<dyn Backend>) -> Result<()> {
/// let queues = Queues::new(Partitioned::new(backend, 12)?);
/// let orders = queues.reliable("orders").open::<String>().await?;
/// // Messages of one partition key keep their order, but may be worked on at the same time.
/// let order = orders.message("ship 41");
/// order.header(Partitioned::KEY, "customer-7").send().await?;
/// # Ok(())
/// # }
/// ```
///
/// # Which partition
///
/// Messages with equal keys share a partition. A message's key is the first that it has of these: the
/// partition key, which is the header [`KEY`](Self::KEY); the distinct key (B7); the dedup key (L9). So a
/// dedup mark is known only in one partition. A repeat has to carry the same partition key and distinct key
/// as the first push, and a repeat of the same message does. Messages without a key go to one partition after
/// another; messages of one batch stay together.
///
/// An id contains its partition, so settlements and all calls that name a message go there. Partition 0 has
/// the ids of an undivided queue; in other partitions the top byte of an id is the partition.
///
/// # What holds, and for what
///
/// No message is lost or handed out twice, and fencing, attempts, delays, cancelling and dedup are those of
/// the backend. **Each partition alone** keeps the order, the priorities and the due order. It has its share
/// of a capacity (`C / N`; the first `C mod N` partitions one more), its own cap of dead letters, and its own
/// tokens. [`guarantees`](Backend::guarantees) lists these rules, as
/// [`Condition::Partitions`](crate::Condition::Partitions). A queue of one partition is an undivided queue,
/// and keeps everything.
///
/// * **A batch** is all or nothing in each partition. If a partition fails, the error says
///   [`Unknown`](crate::Outcome::Unknown) unless nothing was done anywhere; repeating the batch is safe with
///   dedup keys. A bad entry refuses the whole batch before any partition sees it.
/// * **A lease** goes round the partitions, from another partition each time, until it has enough messages. A
///   lease that finds nothing has polled all partitions. It hands out less than 16 MiB. If a partition fails,
///   the lease returns the messages of the others, and the error only if there are none. A `settle_and_lease`
///   settles everything before it leases.
/// * **A push** without a key that its partition refuses as full goes to the other partitions, each
///   time in its place in the batch (F2). Entries with keys in such a batch wait for that. A push with a
///   key, or with [`DropOldest`](crate::Overflow::DropOldest), goes to one partition only.
/// * **A wait** waits on all partitions at once. A producer that waits for room with a key may be notified of
///   another partition's room. It finds room in its own partition at the latest when its timer lets it poll
///   again.
/// * **Listings** go partition by partition; `recent` takes the newest of each partition in turn.
/// * **Sums** of all partitions are `depth`, the counters and the capacity, each partition read at an instant
///   of its own. `paused` is true if any partition is paused.
/// * **A confirmation** (R2) comes from each partition that the call went to, and the weakest result counts.
/// * **Steps.** `pause`, `resume`, `resize`, `purge`, `reconfigure` and `remove` take one partition after
///   another or all at once. After an error they hold for some partitions; repeating them is safe. A removal
///   first checks whether anything is leased. It removes each partition by its name, listed or not.
///
/// # The number of partitions
///
/// The first open stores the number, in an empty ring under the queue's own name, which other opens of that
/// name find. An open with another number is a [`ConfigMismatch`](crate::ErrorKind::ConfigMismatch) that
/// names both. To change it, drain the queue and remove it, or use another name. `open_stored` needs no
/// number, and refuses a queue if some of its partitions are missing. The partitions of `orders` are
/// `orders--0of12-3` and so on, where the last number is the salt that chooses the slot; a listing shows only
/// `orders`. Names have at most 115 bytes. If a first open is cut short, the next open completes it.
///
/// A ring is not divided, because it has one order: open it on the backend itself.
#[derive(Debug, Clone)]
pub struct Partitioned {
    backend: Arc<dyn Backend>,
    partitions: usize,
    /// The partition at which each handle's round begins.
    first: usize,
}

impl Partitioned {
    /// The header that names a message's partition key. Messages of one key share a partition, and so keep
    /// their order. A key does **not** serialise: several messages of one key may be leased at the same time,
    /// and a failed message does not hold up the messages behind it.
    pub const KEY: &str = Push::PARTITION_KEY;

    /// The most partitions that a queue may have.
    pub const MAX_PARTITIONS: usize = names::MAX_PARTITIONS;

    /// Divides each queue of `backend` into `partitions` partitions.
    ///
    /// # Errors
    ///
    /// `Invalid` for no partition, or for more than 64.
    pub fn new(backend: Arc<dyn Backend>, partitions: usize) -> Result<Self> {
        if !(1..=Self::MAX_PARTITIONS).contains(&partitions) {
            return Err(Error::invalid(format!(
                "{partitions} partitions: 1 to {} are allowed",
                Self::MAX_PARTITIONS
            )));
        }
        // Each process begins at a random partition, because many processes may push a single message each.
        let any = RandomState::new().hash_one(partitions);
        let first = usize::try_from(any % partitions as u64).unwrap_or_default();
        Ok(Self {
            backend,
            partitions,
            first,
        })
    }

    /// How many partitions a queue has, by the configuration that the undivided backend has stored under its name;
    /// `None` if that queue is not divided.
    pub fn partitions_of(stored: &QueueConfig) -> Option<usize> {
        record::partitions(stored)
    }

    /// Begins each handle's round at `partition` (counted from 0, modulo the number of partitions) in place
    /// of a random one. So a test or a simulation can be repeated exactly.
    #[must_use]
    pub const fn beginning_at(mut self, partition: usize) -> Self {
        self.first = partition % self.partitions;
        self
    }
}
