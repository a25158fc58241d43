//! One queue of several parts uses the whole cluster.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::*;
use real_redis::{Cluster, Server};

use super::{Test, connect};

const PARTS: usize = 12;
const MESSAGES: u64 = 1_200;
const AT_ONCE: usize = 10;

/// Calls of scripts on each server.
fn calls(cluster: &Cluster) -> Vec<u64> {
    let servers = cluster.servers().iter();
    let counts = servers.map(|server| server.command_counts().expect("it answers"));
    counts.map(|counts| counts.of("evalsha")).collect()
}

/// Asserts that each server had an equal share of the calls since then, within a tenth of the mean, and
/// answers how many there were.
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
    let backend = Partitioned::new(backend, PARTS)?;
    let name = QueueName::new("orders")?;
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config).await?;

    let before = calls(&cluster);
    for number in 0..MESSAGES {
        queue.push_one(number.to_string()).await?;
    }
    let pushes = even(&cluster, &before);
    assert_eq!(
        pushes, MESSAGES,
        "a push is one round trip, as on one server"
    );

    let before = calls(&cluster);
    let (most, ttl) = (
        NonZeroUsize::new(AT_ONCE).expect("positive"),
        Duration::from_secs(60),
    );
    let (mut acks, mut got) = (Vec::new(), 0);
    while got < MESSAGES {
        let (_, leased) = queue.turn(&acks, most, ttl, None).await?;
        got += leased.deliveries.len() as u64;
        let receipts = leased.deliveries.iter().map(|delivery| delivery.receipt);
        acks = receipts.map(Settlement::ack).collect();
    }
    queue.settle(&acks).await?;
    let turns = even(&cluster, &before);
    let on_one_server = MESSAGES / AT_ONCE as u64 + 1;
    // A turn that goes to another part settles in one and leases in the other; and parts end uneven.
    assert!(
        turns <= on_one_server * 3 / 2,
        "{turns} calls, {on_one_server} on one server"
    );
    assert_eq!(queue.counters().await?.acked, MESSAGES);
    Ok(())
}
