//! Queues of several partitions: each partition confirms what a call changes in it, and the weakest answer counts.

use std::sync::Arc;

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Cluster, Server};

use super::{Pair, Reliable, SOON, Test, by_a_replica, open::open};

/// Calls that find no copy end soon.
fn hasty() -> Confirmation {
    Confirmation::replicas(1).within(SOON)
}

fn fewer() -> Copies {
    Copies::Fewer {
        replicas: 0,
        flushed: false,
    }
}

async fn confirming(
    backend: RedisBackend,
    partitions: usize,
    confirmation: Confirmation,
) -> Result<Reliable> {
    let partitioned = Partitioned::new(Arc::new(backend), partitions)?.beginning_at(0);
    open(&*partitioned.confirmed(confirmation).await?, "q").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_replica_confirms_calls_to_any_partition() -> Test {
    let pair = Pair::start()?;
    let safe = confirming(pair.connect().await?, 3, by_a_replica()).await?;
    for _ in 0..3 {
        let pushed = safe.confirmed(|safe| safe.push_one("hello")).await?;
        assert!(pushed.is_confirmed(), "{}", pushed.copies);
    }
    let keyed = |key: u32| Push::new("hello").with_header(Partitioned::KEY, key.to_string());
    let batch: Vec<Push> = (0..20).map(keyed).collect();
    let pushed = safe.confirmed(|safe| safe.push(&batch)).await?;
    assert!(pushed.is_confirmed(), "{}", pushed.copies);
    let mut partitions: Vec<u64> = pushed
        .answer
        .iter()
        .map(|pushed| pushed.id().expect("accepted").get() >> 56)
        .collect();
    partitions.sort_unstable();
    partitions.dedup();
    assert_eq!(partitions, [0, 1, 2], "one call goes to all of them");

    let hasty = confirming(pair.connect().await?, 3, hasty()).await?;
    pair.replica.freeze()?;
    let pushed = hasty.confirmed(|hasty| hasty.push(&batch)).await?;
    assert_eq!(pushed.copies, fewer());
    pair.replica.thaw()?;
    // An error of the call is returned unchanged.
    let refused = safe.confirmed(|safe| safe.push(&[])).await;
    assert_eq!(refused.expect_err("no message").kind(), ErrorKind::Invalid);
    Ok(())
}

#[tokio::test]
async fn a_handle_that_was_not_opened_for_it_confirms_nothing() -> Test {
    let pair = Pair::start()?;
    let partitioned = Partitioned::new(Arc::new(pair.connect().await?), 3)?;
    let plain = open(&partitioned, "q").await?;
    let refused = plain.confirmed(|plain| plain.push_one("hello")).await;
    let error = refused.expect_err("it waits for nobody");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert_eq!(plain.depth().await?.ready, 0, "nothing was done");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_cluster_the_weakest_partition_of_a_call_counts() -> Test {
    let cluster = Cluster::start(2, 1, Server::builder())?;
    let connect = async || RedisBackend::connect(&cluster.url()).await;
    let safe = confirming(connect().await?, 2, by_a_replica()).await?;
    let hasty = confirming(connect().await?, 2, hasty()).await?;
    // A key of each partition.
    let mut keys = [None, None];
    for key in 0..20_u32 {
        let push = Push::new("hello").with_header(Partitioned::KEY, key.to_string());
        let pushed = safe.confirmed(|safe| safe.push_one(push.clone())).await?;
        assert!(pushed.is_confirmed(), "{}", pushed.copies);
        keys[(pushed.answer.id().expect("accepted").get() >> 56) as usize] = Some(push);
    }
    let [Some(first), Some(second)] = keys else {
        panic!("both partitions have keys");
    };
    // The first two servers are the primaries, and the others their replicas, in this order.
    cluster.servers()[3].freeze()?;
    for (batch, is_confirmed) in [
        (vec![first.clone()], true),
        (vec![second.clone()], false),
        (vec![first, second], false),
    ] {
        let pushed = hasty.confirmed(|hasty| hasty.push(&batch)).await?;
        match is_confirmed {
            true => assert!(pushed.is_confirmed(), "{}", pushed.copies),
            false => assert_eq!(pushed.copies, fewer()),
        }
    }
    cluster.servers()[3].thaw()?;
    Ok(())
}
