//! Slots move to other nodes, key by key, while queues are in use.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::{Cluster, Server};
use tokio::time::{sleep, timeout};

use super::{
    PATIENCE, Test, connect, errors::assert_passes, open::open, patient::patient, receiving,
    slot_of,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_is_notified_after_its_slot_moved() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let (here, elsewhere) = (connect(&cluster).await?, connect(&cluster).await?);
    let (waiting, pushing) = (open(&here, "q").await?, open(&elsewhere, "q").await?);
    let slot = slot_of(&cluster, "q");
    for round in 0..4_usize {
        let consumer = receiving(&waiting);
        // The consumer waits now or will in a moment; either way the push must wake it.
        if round % 2 == 0 {
            sleep(Duration::from_millis(50)).await;
        }
        let from = cluster.owner(slot)?;
        tokio::task::block_in_place(|| cluster.migrate(slot, from, (from + 1) % 3))?;
        let _ = pushing.push_one("work").await?;
        let delivery = timeout(PATIENCE, consumer).await???;
        let receipt = delivery.expect("before the hour is over").receipt;
        waiting.ack(receipt).await?;
    }
    Ok(())
}

/// A node that has left the cluster no longer receives its publications.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_at_a_leaving_node_moves_to_its_successor() -> Test {
    let cluster = Cluster::start(3, 1, Server::builder())?;
    let (here, elsewhere) = (connect(&cluster).await?, connect(&cluster).await?);
    let (waiting, pushing) = (open(&here, "q").await?, open(&elsewhere, "q").await?);
    let slot = slot_of(&cluster, "q");
    let old = cluster.owner(slot)?;
    let consumer = receiving(&waiting);
    sleep(Duration::from_millis(50)).await;

    let successor = cluster.servers().len() / 2 + old;
    tokio::task::block_in_place(|| cluster.fail_over(successor))?;
    let servers = cluster.servers();
    servers[old].ask::<()>(&["CLUSTER", "RESET"])?;
    for other in (0..servers.len()).filter(|other| *other != old) {
        servers[other].ask::<()>(&["CLUSTER", "FORGET", cluster.id(old)])?;
    }
    // Any next call of the process finds the new owner.
    assert_eq!(waiting.depth().await?.ready, 0);
    let _ = pushing.push_one("work").await?;
    let delivery = timeout(PATIENCE, consumer).await???;
    assert!(delivery.is_some());
    // The old node's end does not affect clients that have left it.
    servers[old].kill()?;
    here.ping().await?;
    assert!(here.health().is_up(), "{:?}", here.health());
    Ok(())
}

/// Repeats the call until its error is not one that a busy machine causes.
#[expect(clippy::future_not_send, reason = "a test awaits it on its own thread")]
async fn again_until<T>(call: impl AsyncFn() -> T, holds: impl Fn(&T) -> bool) -> T {
    let answered = async {
        loop {
            let answer = call().await;
            if holds(&answer) {
                return answer;
            }
        }
    };
    timeout(PATIENCE, answered).await.expect("an answer")
}

/// While a slot is on its way, its old node has some of the keys. A script that empties one of them
/// and then looks at it again would be stopped half-way there.
#[tokio::test]
async fn nothing_runs_where_a_script_could_be_stopped_half_way() -> Test {
    let cluster = Cluster::start(2, 0, Server::builder())?;
    let queue = open(&connect(&cluster).await?, "q").await?;
    // The calls of this client wait for the slot only for this time. A busy machine may take as long to
    // answer, so the client tries again.
    let hasty = || patient(&cluster.url()).response_timeout(Duration::from_millis(200));
    let hasty = async || open(&hasty().connect().await?, "q").await;
    let hasty = again_until(hasty, |opened| opened.is_ok()).await?;
    let (lease_time, one) = (Duration::from_secs(60), NonZeroUsize::MIN);
    // One message in each place, so that every key of a lease is there.
    for number in 0..5 {
        let _ = queue.push_one(number.to_string()).await?;
    }
    let all = NonZeroUsize::new(4).expect("positive");
    let leased = queue.lease(all, lease_time).await?.deliveries;
    let settlements = [
        Settlement::bury(leased[0].receipt, "dead"),
        Settlement::retry(leased[1].receipt, lease_time),
        Settlement::release(leased[2].receipt),
    ];
    queue.settle(&settlements).await?;
    let before = queue.depth().await?;
    assert_eq!(
        (before.ready, before.delayed, before.leased, before.dead),
        (2, 1, 1, 1)
    );

    let slot = slot_of(&cluster, "q");
    let owner = cluster.owner(slot)?;
    let other = 1 - owner;
    cluster.begin_to_migrate(slot, owner, other, 0)?;
    let lease = async || {
        hasty
            .lease(one, lease_time)
            .await
            .expect_err("the slot is moving")
    };
    let error = again_until(lease, |error| error.to_string().contains("on its way")).await;
    assert_passes(&error, &["on its way"]);
    for server in [owner, other] {
        let words = ["CLUSTER", "SETSLOT", &slot.to_string(), "STABLE"];
        cluster.servers()[server].ask::<()>(&words)?;
    }
    assert_eq!(queue.depth().await?, before, "nothing was stopped half-way");
    assert_eq!(queue.lease(one, lease_time).await?.deliveries.len(), 1);
    Ok(())
}
