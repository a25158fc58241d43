//! Slots move to other nodes while messages flow, and no call fails.

use queue_core::QueueKind;
use real_redis::{Cluster, Server, ServerError};
use tokio::task::block_in_place;

use crate::{
    ground::{slot_of, within},
    patient::patient,
    subject::Subject,
    traffic::{Errors, Traffic},
};

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
    let backend = patient(&cluster.url()).connect().await;
    let backend = backend.expect("the cluster takes us");
    for kind in QueueKind::LEASING {
        let slot = slot_of(cluster, kind);
        let queue = Subject::open(&backend, kind).await.expect("opens");
        let traffic = Traffic::on(queue, Errors::None);
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
