//! Messages with due times, on kinds that need none (D1).

use std::time::Duration;

use queue_core::AnyQueue;
use tokio::time;

use super::{actor::Actor, delay::OVERTAKES};
use crate::workload::Mode;

/// In runs where a lost hint shows, perhaps puts in a message that is due late. When waiting processes have learnt of
/// it, puts in a message that is due sooner. Then keeps still for so long that a process that sleeps through the second
/// message shows. Returns true if it did.
pub(super) async fn overtakes(actor: &Actor, queue: &AnyQueue) -> bool {
    if actor.workload.mode != Mode::Waiting || !actor.flip(OVERTAKES) {
        return false;
    }
    let late = actor.workload.longest();
    let soon = actor.workload.lease_time * (1 + actor.choose(2));
    for delay in [late, soon] {
        let mut push = actor.message_without_due().with_due(delay);
        // The backend sends no hint for a duplicate.
        push.dedup = None;
        let Ok(put) = queue.put(&[push]).await else {
            return true;
        };
        actor.pool.add_offered(&put);
        time::sleep(Duration::from_millis(1)).await;
    }
    time::sleep(late / 2).await;
    true
}
