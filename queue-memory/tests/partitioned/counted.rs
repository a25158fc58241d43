//! Counts of the calls to each partition: the load is even, and a message costs about the same number of
//! calls as on a queue without partitions. Also a partition that refuses calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use queue_core::{
    Error, ErrorKind, Leasing, LeasingExt, QueueName, ReliableQueue, Result, Settlement,
    call::{Answer, Call, Layer, Service},
};

use crate::{LEASE, count, reliable_behind};

/// Refuses the calls to the partition whose name contains this text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Refusing(Arc<Mutex<String>>);

impl Refusing {
    pub(crate) fn refuse(&self, partition: &str) {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        partition.clone_into(&mut refused);
    }
}

#[async_trait]
impl Layer for Refusing {
    async fn call(&self, name: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        let refused = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if !refused.is_empty() && name.as_str().contains(&refused) {
            return Err(Error::new(ErrorKind::Unavailable, "the node is down").with_queue(name));
        }
        queue.call(call).await
    }
}

/// Counts the calls to each partition, by name.
#[derive(Debug, Clone, Default)]
struct Counting(Arc<Mutex<BTreeMap<QueueName, u64>>>);

impl Counting {
    fn add(&self, partition: &QueueName) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *calls.entry(partition.clone()).or_default() += 1;
    }

    fn take(&self) -> Vec<u64> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *calls).into_values().collect()
    }
}

#[async_trait]
impl Layer for Counting {
    async fn call(&self, name: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        self.add(name);
        queue.call(call).await
    }
}

async fn counted(partitions: usize) -> (Counting, Arc<dyn ReliableQueue>) {
    let counting = Counting::default();
    let queue = reliable_behind(counting.clone(), partitions).await;
    (counting, queue)
}

/// The calls for each message of a consumer of ten at a time: each `settle_and_lease` settles the finished
/// messages and leases the same number, as a worker does.
async fn consume(queue: &dyn Leasing, messages: usize) {
    let (mut held, mut seen) = (Vec::new(), 0);
    while seen < messages {
        // The handlers end out of order, five at a time.
        let done = held.split_off(held.len().saturating_sub(5));
        let batch: Vec<_> = done.into_iter().map(Settlement::ack).collect();
        let free = count(10 - held.len());
        let (_, leased) = queue
            .settle_and_lease(&batch, free, LEASE, None)
            .await
            .unwrap();
        seen += leased.deliveries.len();
        let receipts = leased
            .deliveries
            .into_iter()
            .map(|delivery| delivery.receipt);
        held.splice(0..0, receipts);
    }
}

#[tokio::test]
async fn under_load_a_message_costs_as_many_calls_as_without_partitions() {
    const MESSAGES: usize = 6_000;
    let mut costs = Vec::new();
    for partitions in [1, 3, 12] {
        let (counting, queue) = counted(partitions).await;
        for _ in 0..MESSAGES + 100 * partitions {
            queue.push_one("x").await.unwrap().id().unwrap();
        }
        let pushes = counting.take();
        assert_eq!(
            pushes.iter().sum::<u64>(),
            (MESSAGES + 100 * partitions) as u64,
            "one call each"
        );
        assert!(is_even(&pushes), "{pushes:?}");
        consume(&*queue, MESSAGES).await;
        let settle_and_leases = counting.take();
        assert!(
            is_even(&settle_and_leases),
            "of {partitions}: {settle_and_leases:?}"
        );
        costs.push(settle_and_leases.iter().sum::<u64>());
    }
    println!("calls for {MESSAGES} messages: {costs:?}");
    let allowed = costs[0] + costs[0] / 3;
    assert!(costs.iter().all(|cost| *cost <= allowed), "{costs:?}");
}

#[tokio::test]
async fn a_batch_without_keys_is_one_call_and_a_lease_of_what_one_partition_has_is_one() {
    let (counting, queue) = counted(8).await;
    let batch: Vec<queue_core::Push> = (0..100).map(|n| n.to_string().into()).collect();
    for _ in 0..8 {
        queue.push(&batch).await.unwrap();
    }
    assert_eq!(counting.take(), [1; 8]);
    for _ in 0..8 {
        let leased = queue.lease(count(50), LEASE).await.unwrap();
        assert_eq!(leased.deliveries.len(), 50);
    }
    assert_eq!(counting.take().iter().sum::<u64>(), 8);
}

#[tokio::test]
async fn partitions_known_to_be_empty_are_skipped_while_there_is_work() {
    let (counting, queue) = counted(8).await;
    // With one key all messages are in one partition.
    let keyed = |_| queue_core::Push::new("x").with_header(queue_core::Partitioned::KEY, "one");
    let batch: Vec<_> = (0..128).map(keyed).collect();
    queue.push(&batch).await.unwrap();
    assert_eq!(
        queue.lease(count(1), LEASE).await.unwrap().deliveries.len(),
        1
    );
    counting.take();
    for _ in 0..80 {
        assert_eq!(
            queue.lease(count(1), LEASE).await.unwrap().deliveries.len(),
            1
        );
    }
    let calls: u64 = counting.take().iter().sum();
    assert!((80..=80 + 80 / 7 + 8).contains(&calls), "{calls}");
}

/// Within 10 % of each other.
fn is_even(calls: &[u64]) -> bool {
    let (least, most) = (calls.iter().min().unwrap(), calls.iter().max().unwrap());
    most * 10 <= least * 11
}
