//! A primary of a cluster dies under load, and its replica takes its slots.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use queue_core::{Leasing, ReliableQueueExt};
use real_redis::{Cluster, Server};
use tokio::{
    task::block_in_place,
    time::{sleep, timeout},
};

use super::{PATIENCE, Test, connect, open, receiving, slot_of, traffic::Traffic};

const QUEUES: usize = 9;
/// Pushes before the primary dies, and after its slots are served again.
const BEFORE: usize = 600;
const AFTER: usize = 600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_replica_had_survives_the_death_of_its_primary() -> Test {
    let settings = Server::builder()
        .with_line("cluster-node-timeout 1000")
        // So that an election starts at once.
        .with_line("cluster-replica-validity-factor 0");
    let cluster = Cluster::start(3, 1, settings)?;
    let backend = connect(&cluster).await?;
    let names: Vec<String> = (0..QUEUES).map(|number| format!("q{number}")).collect();
    let traffic = Traffic::on(&backend, &names).await?;
    while traffic.pushed() < BEFORE {
        sleep(Duration::from_millis(5)).await;
    }

    let held = traffic.acknowledged();
    let slots: Vec<u16> = names.iter().map(|name| slot_of(&cluster, name)).collect();
    let victim = cluster.owner(slots[0])?;
    block_in_place(|| replicate(&cluster, victim))?;
    cluster.servers()[victim].kill()?;
    let killed = Instant::now();
    block_in_place(|| {
        cluster.wait_until("a replica has taken the slots", || {
            Ok(cluster.owner(slots[0])? != victim)
        })?;
        cluster.wait_until_it_serves()
    })?;
    let elected = killed.elapsed();
    let before = traffic.acknowledged();
    let goal = traffic.pushed() + AFTER;
    // The queues of the other nodes are served all the time, and may reach the goal alone.
    let served = async {
        loop {
            let after: BTreeSet<_> = traffic
                .acknowledged()
                .difference(&before)
                .copied()
                .collect();
            let is_served = |queue| after.iter().any(|(served, _)| *served == queue);
            if traffic.pushed() >= goal && (0..QUEUES).all(is_served) {
                return after;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let after = timeout(PATIENCE, served)
        .await
        .expect("every queue is served again");

    // What was acknowledged after WAIT and before the death may be lost with the primary.
    let must = move |message| held.contains(&message) || after.contains(&message);
    let ended = timeout(PATIENCE, traffic.end(must)).await?;
    eprintln!(
        "the cluster served again after {elected:?}: {} lost of {}, {} unknown",
        ended.lost, ended.acknowledged, ended.unknown
    );
    assert!(backend.health().is_up(), "{:?}", backend.health());
    Ok(())
}

/// Waits until a replica has all that this primary has acknowledged so far.
fn replicate(cluster: &Cluster, primary: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut connection = cluster.servers()[primary].connect()?;
    // WAIT counts from the last write of its own connection: PUBLISH goes to replicas, and has no slot.
    redis::cmd("PUBLISH")
        .arg("mark")
        .arg("")
        .exec(&mut connection)?;
    let wait = redis::cmd("WAIT")
        .arg(1)
        .arg(30_000)
        .query::<u32>(&mut connection)?;
    assert_eq!(wait, 1, "the replica is connected");
    Ok(())
}

/// What is told to the cluster is not told there any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_at_a_node_that_leaves_waits_at_its_successor() -> Test {
    let cluster = Cluster::start(3, 1, Server::builder())?;
    let (here, elsewhere) = (connect(&cluster).await?, connect(&cluster).await?);
    let (waiting, pushing) = (open(&here, "q").await?, open(&elsewhere, "q").await?);
    let slot = slot_of(&cluster, "q");
    let old = cluster.owner(slot)?;
    let consumer = receiving(&waiting);
    sleep(Duration::from_millis(50)).await;

    let successor = cluster.servers().len() / 2 + old;
    block_in_place(|| cluster.fail_over(successor))?;
    administer(&cluster, old, &["RESET"]);
    for other in (0..cluster.servers().len()).filter(|other| *other != old) {
        administer(&cluster, other, &["FORGET", cluster.id(old)]);
    }
    // The next call of the process learns of it, whoever makes it.
    assert_eq!(waiting.depth().await?.ready, 0);
    pushing.push_one("work").await?;
    let delivery = timeout(PATIENCE, consumer).await???;
    assert!(delivery.is_some());
    Ok(())
}

/// Has a server of the cluster run this, unless it refuses.
fn administer(cluster: &Cluster, server: usize, words: &[&str]) {
    let mut connection = cluster.servers()[server].connect().expect("it runs");
    redis::cmd("CLUSTER").arg(words).exec(&mut connection).ok();
}
