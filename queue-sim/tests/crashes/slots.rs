//! Slots move to other nodes while messages flow, and no call fails.

use std::time::Duration;

use queue_core::QueueKind;
use queue_redis::RedisBackend;
use real_redis::{Cluster, Server, ServerError};
use tokio::task::block_in_place;

use crate::{
    ground::within,
    servers::slot_of,
    traffic::{Errors, Subject, Traffic},
};

/// Longer than a busy machine takes for an answer: no timeout has to pass here.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_while_slots_move() {
    let cluster = three_nodes();
    move_slots(&cluster, Cluster::migrate).await;
}

/// Valkey 9 moves a slot in one step. Other servers skip this test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_while_slots_move_in_one_step() {
    let cluster = three_nodes();
    if !cluster.migrates_at_once().expect("it answers") {
        eprintln!("skipped: this server moves slots key by key only");
        return;
    }
    move_slots(&cluster, Cluster::migrate_at_once).await;
}

fn three_nodes() -> Cluster {
    Cluster::start(3, 0, Server::builder()).expect("a cluster")
}

async fn move_slots(
    cluster: &Cluster,
    migrate: impl Fn(&Cluster, u16, usize, usize) -> Result<(), ServerError>,
) {
    let builder = RedisBackend::builder(&cluster.url()).expect("a good URL");
    let builder = builder.connect_timeout(PATIENCE).response_timeout(PATIENCE);
    let backend = builder.connect().await.expect("the cluster takes us");
    for kind in QueueKind::LEASING {
        let slot = slot_of(cluster, kind);
        let queue = Subject::open(&backend, None, kind.as_str(), kind).await;
        let traffic = Traffic::on(&queue.expect("opens"), Errors::None).await;
        let moves = async {
            for _ in 0..2 {
                traffic.flows(50).await;
                let from = cluster.owner(slot).expect("somebody has it");
                let to = (from + 1) % 3;
                // The blocking client must not hold the runtime's threads.
                block_in_place(|| migrate(cluster, slot, from, to)).expect("it moves");
                assert_eq!(cluster.owner(slot).expect("somebody has it"), to);
            }
            traffic.flows(50).await;
        };
        within("traffic while slots move", traffic.during(moves)).await;
    }
}
