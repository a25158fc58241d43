use queue_core::{Pushed, ReliableQueue, ReliableQueueExt};

use super::{actor::Actor, goals};

pub(super) async fn put(actor: &Actor, queue: &dyn ReliableQueue) {
    let batch: Vec<_> = (0..actor.batch()).map(|_| actor.message()).collect();
    for _ in 0..3 {
        match queue.push_all(&batch).await {
            Ok(pushed) => {
                actor.put_in(batch.iter());
                return accepted(actor, &pushed);
            }
            Err(error) if !actor.repeats(&error) => return,
            Err(_) => {}
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
