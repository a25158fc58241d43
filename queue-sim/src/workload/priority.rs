use queue_core::{Prioritized, PriorityQueue, PriorityQueueExt};

use super::actor::Actor;

pub(super) async fn put(actor: &Actor, queue: &dyn PriorityQueue) {
    let one = |_| Prioritized::new(actor.message(), priority(actor));
    let batch: Vec<_> = (0..actor.batch()).map(one).collect();
    if let Some(pushed) = actor.insist(|| queue.enqueue_all(&batch)).await {
        actor.put_in(batch.iter().map(|each| &each.push));
        actor.pool.add_pushed(&pushed);
    }
}

/// A priority: mostly one of a few, so that equal ones meet. The extremes are drawn, too, and neighbours that differ in
/// sign, length or byte.
fn priority(actor: &Actor) -> i16 {
    const PRIORITIES: [i16; 12] = [0, 1, 2, -1, 9, 10, -10, 255, 256, -256, i16::MAX, i16::MIN];
    PRIORITIES[actor.weigh(&[30, 15, 10, 10, 5, 5, 5, 3, 3, 3, 6, 5]) as usize]
}
