//! Clusters: the suite on three nodes, which node a call goes to, and slots that move.

#![cfg(unix)]

mod conformance;
mod connecting;
#[path = "../support/errors.rs"]
mod errors;
mod migration;
#[path = "../support/open.rs"]
mod open;
mod partitions;
#[path = "../support/patient.rs"]
mod patient;
mod routing;

use std::{error::Error as StdError, sync::Arc, time::Duration};

use queue_core::{Delivery, LeasingExt, ReliableQueue};
use queue_redis::RedisBackend;
use real_redis::Cluster;
use tokio::task::JoinHandle;

use self::patient::patient;

type Test = Result<(), Box<dyn StdError>>;

/// Longer than a busy machine takes for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of this cluster. Its timers are too long to hide a lost wake-up.
async fn connect(cluster: &Cluster) -> queue_core::Result<RedisBackend> {
    patient(&cluster.url())
        .fall_back(Duration::from_secs(3600))
        .connect()
        .await
}

/// Waits for a message in a task of its own.
fn receiving(queue: &Arc<dyn ReliableQueue>) -> JoinHandle<queue_core::Result<Option<Delivery>>> {
    let queue = Arc::clone(queue);
    let hour = Duration::from_secs(3600);
    tokio::spawn(async move { queue.receive_one(PATIENCE, hour).await })
}

/// The slot of the keys of a queue, as its server says.
fn slot_of(cluster: &Cluster, name: &str) -> u16 {
    let key = format!("qk:{{{name}}}:meta");
    let slot = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", &key]);
    slot.expect("the server answers")
}
