//! Clients of servers that have replicas: half of their calls are confirmed by a copy.

use std::{sync::Arc, time::Duration};

use queue_core::{Backend, Confirmation};
use queue_redis::RedisBackend;

use super::rounds::{connect, flows};
use crate::{ground::at_last, ledger::Toll, traffic::Traffic};

/// How long a call waits for the replica, which may be away.
const FOR_A_COPY: Duration = Duration::from_millis(200);

/// The same queues by handles without a confirmation and with one.
pub(super) struct Clients {
    plain: RedisBackend,
    confirming: Arc<dyn Backend>,
}

impl Clients {
    pub(super) async fn connect(url: &str) -> Self {
        let plain = connect(url).await;
        let copy = Confirmation::replicas(1).within(FOR_A_COPY);
        let confirming = at_last(|| plain.confirmed(copy)).await;
        Self { plain, confirming }
    }

    /// Traffic on a queue of each leasing kind. Afterwards all messages that must stay are there.
    pub(super) async fn flows(&self) -> Vec<Arc<Traffic>> {
        flows(&self.plain, Some(&*self.confirming)).await
    }
}

/// Failovers undid something, and never all; and something was confirmed.
pub(super) fn judge(tolls: &[Toll]) {
    println!("{tolls:?}");
    let undone: usize = tolls.iter().map(|toll| toll.lost).sum();
    assert!(undone > 0, "what a replica did not hear of was lost");
    assert!(tolls.iter().all(|toll| toll.confirmed > 0));
    assert!(tolls.iter().all(|toll| toll.lost < toll.accepted));
}
