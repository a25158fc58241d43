//! Messages without anything but body, headers and dedup key.

use queue_core::AnyQueue;

use super::actor::Actor;

pub(super) async fn put(actor: &Actor, queue: &AnyQueue) {
    put_batch(actor, queue, actor.batch() as usize).await;
}

pub(super) async fn put_batch(actor: &Actor, queue: &AnyQueue, count: usize) {
    let batch: Vec<_> = (0..count).map(|_| actor.message()).collect();
    let Some(put) = actor.insist(|| queue.put_all(&batch)).await else {
        return;
    };
    actor.put_in(batch.iter());
    actor.pool.add_offered(&put);
}
