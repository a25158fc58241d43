//! Slots move to other nodes, key by key, while queues are in use.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Cluster, Server, ServerError};
use tokio::time::{sleep, timeout};

use super::{PATIENCE, Test, connect, open, receiving, slot_of, traffic::Traffic};

const QUEUES: usize = 8;
/// Pushes between two moves.
const BETWEEN: usize = 150;

async fn until_pushed(traffic: &Traffic, more: usize) {
    let goal = traffic.pushed() + more;
    while traffic.pushed() < goal {
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_while_slots_move() -> Test {
    move_slots(|cluster, slot, from, to| cluster.migrate(slot, from, to)).await
}

/// Valkey 9 moves a slot in one step. What a server lacks it cannot be tested on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_while_slots_move_in_one_step() -> Test {
    if !Cluster::start(1, 0, Server::builder())?.migrates_at_once()? {
        eprintln!("skipped: this server moves slots key by key only");
        return Ok(());
    }
    move_slots(|cluster, slot, from, to| cluster.migrate_at_once(slot, from, to)).await
}

async fn move_slots(
    migrate: impl Fn(&Cluster, u16, usize, usize) -> Result<(), ServerError>,
) -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let backend = connect(&cluster).await?;
    let names: Vec<String> = (0..QUEUES).map(|number| format!("q{number}")).collect();
    let traffic = Traffic::on(&backend, &names).await?;
    until_pushed(&traffic, BETWEEN).await;
    for name in &names {
        let slot = slot_of(&cluster, name);
        let from = cluster.owner(slot)?;
        // The server's own blocking client: it must not keep the runtime's threads.
        tokio::task::block_in_place(|| migrate(&cluster, slot, from, (from + 1) % 3))?;
        assert_eq!(cluster.owner(slot)?, (from + 1) % 3);
        until_pushed(&traffic, BETWEEN).await;
    }
    let ended = timeout(PATIENCE, traffic.end(|_| true)).await?;
    assert_eq!(ended.lost, 0, "{ended:?}");
    assert_eq!(ended.unknown, 0, "{ended:?}");
    assert!(ended.errors.is_empty(), "a move is no error: {ended:?}");
    assert!(ended.acknowledged > BETWEEN * QUEUES, "{ended:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_is_told_though_the_slot_has_moved_meanwhile() -> Test {
    let cluster = Cluster::start(3, 0, Server::builder())?;
    let (here, elsewhere) = (connect(&cluster).await?, connect(&cluster).await?);
    let (waiting, pushing) = (open(&here, "q").await?, open(&elsewhere, "q").await?);
    let slot = slot_of(&cluster, "q");
    for round in 0..4_usize {
        let consumer = receiving(&waiting);
        // It waits by now, or does so in a moment; either way it must hear of the push.
        if round % 2 == 0 {
            sleep(Duration::from_millis(50)).await;
        }
        let from = cluster.owner(slot)?;
        tokio::task::block_in_place(|| cluster.migrate(slot, from, (from + 1) % 3))?;
        pushing.push_one("work").await?;
        let delivery = timeout(PATIENCE, consumer).await???;
        let receipt = delivery.expect("before the hour is over").receipt;
        waiting.ack(receipt).await?;
    }
    Ok(())
}

/// While a slot is on its way, its old node has some of the keys. A script that empties one of them
/// and then looks at it again would be stopped half-way there.
#[tokio::test]
async fn nothing_runs_where_a_script_could_be_stopped_half_way() -> Test {
    let cluster = Cluster::start(2, 0, Server::builder())?;
    let backend = RedisBackend::builder(&cluster.url())?
        .response_timeout(Duration::from_millis(200))
        .connect()
        .await?;
    let queue = open(&backend, "q").await?;
    let (ttl, one) = (Duration::from_secs(60), NonZeroUsize::MIN);
    // One message in each place, so that every key of a lease is there.
    for number in 0..5 {
        queue.push_one(number.to_string()).await?;
    }
    let all = NonZeroUsize::new(4).expect("positive");
    let leased = queue.lease(all, ttl).await?.deliveries;
    let settlements = [
        Settlement::bury(leased[0].receipt, "dead"),
        Settlement::retry(leased[1].receipt, ttl),
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
    set_slot(&cluster, other, slot, &["IMPORTING", cluster.id(owner)]);
    set_slot(&cluster, owner, slot, &["MIGRATING", cluster.id(other)]);
    let error = queue.lease(one, ttl).await.expect_err("the slot is moving");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error}");
    assert!(error.to_string().contains("on its way"), "{error}");
    for server in [owner, other] {
        set_slot(&cluster, server, slot, &["STABLE"]);
    }
    assert_eq!(queue.depth().await?, before, "nothing was stopped half-way");
    assert_eq!(queue.lease(one, ttl).await?.deliveries.len(), 1);
    Ok(())
}

fn set_slot(cluster: &Cluster, server: usize, slot: u16, words: &[&str]) {
    let server = &cluster.servers()[server];
    let mut connection = server.connect().expect("the server runs");
    let mut command = redis::cmd("CLUSTER");
    command.arg("SETSLOT").arg(slot).arg(words);
    command.exec(&mut connection).expect("the server obeys");
}
