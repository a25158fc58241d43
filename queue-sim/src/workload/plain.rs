//! Messages without anything but body, headers and dedup key.

use queue_core::{AnyQueue, Offered, Pushed};

use super::{actor::Actor, goals};

pub(super) async fn put(actor: &Actor, queue: &AnyQueue) {
    put_batch(actor, queue, actor.batch() as usize).await;
}

pub(super) async fn put_batch(actor: &Actor, queue: &AnyQueue, count: usize) {
    let batch: Vec<_> = (0..count).map(|_| actor.message()).collect();
    let Some(put) = actor.insist(|| queue.put_all(&batch)).await else {
        return;
    };
    actor.put_in(batch.iter());
    for offered in &put {
        match offered {
            Offered::Accepted { id, .. } => actor.pool.add_id(*id),
            _ => actor.reached(goals::DUPLICATE),
        }
    }
}

/// Remembers the accepted messages.
pub(super) fn accepted(actor: &Actor, pushed: &[Pushed]) {
    for pushed in pushed {
        match pushed {
            Pushed::Accepted(id) => actor.pool.add_id(*id),
            Pushed::Duplicate(_) => actor.reached(goals::DUPLICATE),
        }
    }
}
