use std::num::NonZeroUsize;

use queue_core::{BoundedQueue, BoundedQueueExt, Offer, Offered, Overflow};

use super::{actor::Actor, goals};

fn offer(actor: &Actor) -> Offer {
    let offer = Offer::new(actor.message());
    if actor.workload.distinct > 0 && actor.flip(actor.workload.distinct) {
        return offer.with_distinct(actor.key());
    }
    offer
}

fn note(actor: &Actor, offered: Offered) {
    match offered {
        Offered::Accepted { id, evicted } => {
            actor.pool.add_id(id);
            if evicted.is_some() {
                actor.reached(goals::EVICTION);
            }
        }
        Offered::Replaced { id, .. } => {
            actor.pool.add_id(id);
            actor.reached(goals::REPLACEMENT);
        }
        Offered::Duplicate(_) => actor.reached(goals::DUPLICATE),
        Offered::Full => actor.reached(goals::FULL),
    }
}

pub(super) async fn put(actor: &Actor, queue: &dyn BoundedQueue) {
    let batch: Vec<_> = (0..actor.batch()).map(|_| offer(actor)).collect();
    let overflow = match actor.choose(2) {
        0 => Overflow::Reject,
        _ => Overflow::DropOldest,
    };
    for _ in 0..3 {
        match queue.offer(&batch, overflow).await {
            Ok(offered) => {
                offered.iter().for_each(|offered| note(actor, *offered));
                return;
            }
            Err(error) if !actor.repeats(&error) => return,
            Err(_) => {}
        }
    }
}

pub(super) async fn wait(actor: &Actor, queue: &dyn BoundedQueue) {
    let began = actor.now();
    let offered = queue.offer_or_wait(offer(actor), actor.timeout()).await;
    if let Ok(offered) = offered {
        if offered != Offered::Full && actor.now() > began {
            actor.reached(goals::WORTHWHILE_WAIT_FOR_ROOM);
        }
        note(actor, offered);
    }
}

pub(super) async fn particular(actor: &Actor, queue: &dyn BoundedQueue) {
    match actor.weigh(&[40, 15, 45]) {
        1 => {
            let _ = queue.capacity().await;
        }
        2 => {
            let more = actor.choose(4) as usize;
            let capacity = NonZeroUsize::MIN.saturating_add(more);
            if queue
                .resize(capacity)
                .await
                .is_ok_and(|ids| !ids.is_empty())
            {
                actor.reached(goals::RESIZE_THAT_DROPS);
            }
        }
        _ => {
            let _ = queue.recent(1 + actor.choose(4) as usize).await;
        }
    }
}
