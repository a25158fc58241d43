//! A worker of one slot, or one that takes batches.

use std::num::NonZeroUsize;

use queue_core::{Leasing, Receipt, Settlement, limits};

use super::{
    actor::Actor,
    leasing::{holder, settled, stale},
    lost_hints,
};

/// So many messages are a batch.
const BATCH: NonZeroUsize = NonZeroUsize::new(6).unwrap();

/// Acks one message and leases the next, a few times: messages that the lane holds, or others' that
/// are long done or leased by somebody else. Every other lane acks all that it holds, and leases a batch.
pub(super) async fn work(actor: &mut Actor, queue: &dyn Leasing) {
    let ttl = actor.lease_time();
    let (most, max) = match actor.lane.0 % 2 {
        0 => (1, NonZeroUsize::MIN),
        _ => (limits::MAX_BATCH, BATCH),
    };
    for _ in 0..=actor.choose(4) {
        let receipts: Vec<Receipt> = match actor.flip(25) {
            true => stale(actor).into_iter().collect(),
            false => actor.held.iter().copied().take(most).collect(),
        };
        let acks: Vec<Settlement> = receipts.into_iter().map(Settlement::ack).collect();
        let turned = queue.turn(&acks, max, ttl, holder(actor));
        let Ok((answers, leased)) = turned.await else {
            return;
        };
        settled(actor, &acks, &answers);
        actor.take(&leased.deliveries);
        if lost_hints::works(actor) {
            // So long that a lane which missed a hint of this turn sleeps too long.
            lost_hints::keep_still(actor).await;
        }
    }
}
