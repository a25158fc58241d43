//! A worker of one slot, or a worker that takes batches.

use std::num::NonZeroUsize;

use queue_core::{AnyQueue, Receipt, Settlement, limits};

use super::{
    actor::Actor,
    leasing::{holder, stale},
    lost_hints,
    put::put_plain,
};

/// The number of messages in a batch.
const BATCH: NonZeroUsize = NonZeroUsize::new(8).unwrap();
/// The number of messages in a part of a batch.
const PART: usize = 3;

/// Acks one message and leases the next, a few times: messages that the process holds, or others' that are long done or
/// leased by somebody else. In runs with operators, every other process puts in a batch, leases as many messages at
/// once, and acks all that it holds, or twice a part of it. This is not drawn, and recipes have no operators, so kept
/// plans from before there were batches still play the same run.
pub(super) async fn work(actor: &mut Actor, queue: &AnyQueue) {
    let in_batches = actor.workload.operators && actor.process.0.is_multiple_of(2);
    let max = if in_batches { BATCH } else { NonZeroUsize::MIN };
    if in_batches {
        put_plain(actor, queue, BATCH.get()).await;
    }
    let Some(queue) = queue.leasing() else {
        return;
    };
    let lease_time = actor.lease_time();
    for round in 0..=actor.choose(4) {
        let most = match (in_batches, round % 3) {
            (true, 0) => limits::MAX_BATCH,
            (true, _) => PART,
            (false, _) => 1,
        };
        let receipts: Vec<Receipt> = match actor.flip(25) {
            true => stale(actor).into_iter().collect(),
            false => actor.held.iter().copied().take(most).collect(),
        };
        let acks: Vec<Settlement> = receipts.into_iter().map(Settlement::ack).collect();
        let answer = queue.settle_and_lease(&acks, max, lease_time, holder(actor));
        let Ok((_, leased)) = answer.await else {
            return;
        };
        actor.forget(&acks);
        actor.take(&leased.deliveries);
        if lost_hints::works(actor) {
            // So long that a process which missed a hint of this call sleeps too long.
            lost_hints::keep_still(actor).await;
        }
    }
}
