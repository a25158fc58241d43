//! A worker of one slot.

use std::num::NonZeroUsize;

use queue_core::{Leasing, Settlement};

use super::{
    actor::Actor,
    leasing::{holder, settled, stale},
    lost_hints,
};

/// Acks one message and leases the next, a few times: messages that the lane holds, or others' that
/// are long done or leased by somebody else.
pub(super) async fn work(actor: &mut Actor, queue: &dyn Leasing) {
    let ttl = actor.lease_time();
    for _ in 0..=actor.choose(4) {
        let receipt = match actor.flip(25) {
            true => stale(actor),
            false => actor.held.first().copied(),
        };
        let acks: Vec<Settlement> = receipt.map(Settlement::ack).into_iter().collect();
        let turned = queue.turn(&acks, NonZeroUsize::MIN, ttl, holder(actor));
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
