//! On a cluster: the replicas of the node that has the queue count, and no others.

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Cluster, Server};

use super::{Reliable, SOON, Test, by_a_replica, confirming, open::open};

async fn connect(cluster: &Cluster) -> Result<RedisBackend> {
    RedisBackend::connect(&cluster.url()).await
}

/// The slot of the keys of the queue that the tests open.
fn slot(cluster: &Cluster) -> u16 {
    let slot = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", "qk:{q}:meta"]);
    slot.expect("a slot")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_replicas_of_a_queues_own_node_confirm_it() -> Test {
    let cluster = Cluster::start(2, 1, Server::builder())?;
    let backend = connect(&cluster).await?;
    let safe = backend.confirmed(by_a_replica()).await?;
    for number in 0..6 {
        let name = QueueName::new(format!("q{number}"))?;
        let queue = safe.open_delay(&name, &DelayConfig::default()).await?;
        let pushed = queue
            .confirmed(|queue| queue.push_one(Push::new("hello").with_due(SOON)))
            .await?;
        assert!(pushed.is_confirmed(), "{}", pushed.copies);
    }
    // The first two servers are the primaries, and the others their replicas, in this order.
    let owner = cluster.owner(slot(&cluster))?;
    let hasty = Confirmation::replicas(1).within(SOON);
    let queue = confirming(&backend, hasty).await?;
    cluster.servers()[2 + owner].freeze()?;
    let pushed = queue.confirmed(|queue| queue.push_one("hello")).await?;
    let fewer = Copies::Fewer {
        replicas: 0,
        flushed: false,
    };
    assert_eq!(pushed.copies, fewer);
    cluster.servers()[2 + owner].thaw()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_between_a_push_and_its_wait_leaves_it_unconfirmed() -> Test {
    let cluster = Cluster::start(2, 1, Server::builder())?;
    let backend = connect(&cluster).await?;
    let safe: Reliable = confirming(&backend, by_a_replica()).await?;
    let slot = slot(&cluster);
    let mut from = cluster.owner(slot)?;
    for call_after in [false, true] {
        let to = 1 - from;
        let pushed = safe.confirmed(async |safe| {
            let pushed = safe.push_one("before").await?;
            cluster.migrate(slot, from, to).expect("it moves");
            if call_after {
                let _ = safe.push_one("after").await?;
            }
            Ok(pushed)
        });
        let pushed = pushed.await?;
        assert!(
            matches!(pushed.copies, Copies::Unknown(_)),
            "{}",
            pushed.copies
        );
        from = to;
    }
    // From the new owner on, it is as before.
    open(&backend, "q").await?.depth().await?;
    let _ = safe.push_one("again").await?;
    let pushed = safe.confirmed(|safe| safe.push_one("last")).await?;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    Ok(())
}
