//! One queue of several partitions uses the whole cluster.

use std::{future::poll_fn, num::NonZeroUsize, pin::pin, sync::Arc, task::Poll, time::Duration};

use queue_core::*;
use real_redis::{Cluster, Server};

use super::{Test, connect};

const PARTITIONS: usize = 12;
const MESSAGES: u64 = 1_200;
const AT_ONCE: usize = 10;

/// Calls of scripts on each server.
fn calls(cluster: &Cluster) -> Vec<u64> {
    let servers = cluster.servers().iter();
    let counts = servers.map(|server| server.command_counts().expect("it answers"));
    counts.map(|counts| counts.of("evalsha")).collect()
}

/// Asserts that the calls since `before` are spread equally over the servers, within a tenth of the mean.
/// Returns the number of calls.
fn even(cluster: &Cluster, before: &[u64]) -> u64 {
    let since: Vec<u64> = calls(cluster)
        .iter()
        .zip(before)
        .map(|(now, before)| now - before)
        .collect();
    let all: u64 = since.iter().sum();
    let mean = all / since.len() as u64;
    for calls in &since {
        assert!(calls.abs_diff(mean) <= mean / 10, "{since:?}");
    }
    all
}

#[tokio::test]
async fn each_node_has_an_equal_share_of_the_work() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let backend: Arc<dyn Backend> = Arc::new(connect(&cluster).await?);
    let backend = Partitioned::new(backend, PARTITIONS)?;
    let name = QueueName::new("orders")?;
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config).await?;

    let before = calls(&cluster);
    for number in 0..MESSAGES {
        let _ = queue.push_one(number.to_string()).await?;
    }
    let pushes = even(&cluster, &before);
    assert_eq!(
        pushes, MESSAGES,
        "a push is one round trip, as on one server"
    );

    let before = calls(&cluster);
    let (most, lease_time) = (
        NonZeroUsize::new(AT_ONCE).expect("positive"),
        Duration::from_secs(60),
    );
    let (mut acks, mut got) = (Vec::new(), 0);
    while got < MESSAGES {
        let (_, leased) = queue
            .settle_and_lease(&acks, most, lease_time, None)
            .await?;
        got += leased.deliveries.len() as u64;
        let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
        acks = receipts.map(Settlement::ack).collect();
    }
    queue.settle(&acks).await?;
    let on_cluster = even(&cluster, &before);
    let on_one_server = MESSAGES / AT_ONCE as u64 + 1;
    // A `settle_and_lease` may settle in one partition and lease in another; and partitions run empty at
    // different times.
    assert!(
        on_cluster <= on_one_server * 3 / 2,
        "{on_cluster} calls, {on_one_server} on one server"
    );
    assert_eq!(queue.counters().await?.acked, MESSAGES);
    Ok(())
}

/// Awaits the call, or drops it after `polls` polls.
async fn cut<T>(call: impl Future<Output = T>, polls: usize) -> Option<T> {
    let (mut call, mut left) = (pin!(call), polls);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        call.as_mut().poll(context).map(Some)
    })
    .await
}

#[tokio::test]
async fn a_removal_takes_every_partition_along_whichever_call_made_it() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let backend: Arc<dyn Backend> = Arc::new(connect(&cluster).await?);
    let backend = Partitioned::new(backend, 3)?;
    let name = QueueName::new("orders")?;
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config).await?;
    let most = NonZeroUsize::new(10).expect("positive");
    let lease_time = Duration::from_secs(60);
    for polls in 0.. {
        backend.remove(&name, Removal::EvenIfLeased).await?;
        let push = Push::new("work").with_header(Partitioned::KEY, "one");
        let done = cut(queue.push_one(push.clone()), polls).await.is_some();
        let _ = queue.push_one(push).await?;
        let held = queue.lease(most, lease_time).await?.deliveries;
        assert!(!held.is_empty());
        let listed = backend.queues(None, most).await?;
        assert_eq!(listed.len(), 1, "after {polls} polls");
        assert!(backend.remove(&name, Removal::EvenIfLeased).await?);
        assert_eq!(backend.queues(None, most).await?, [], "after {polls} polls");
        for delivery in held {
            let settled = queue.settle(&[Settlement::ack(delivery.receipt)]).await?;
            assert_eq!(settled, [Settled::LeaseLost], "after {polls} polls");
        }
        if done {
            break;
        }
    }
    Ok(())
}
