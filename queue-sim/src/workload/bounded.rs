use std::num::NonZeroUsize;

use queue_core::{AnyQueue, BoundedQueue, BoundedQueueExt, Pushed, QueueConfig};

use super::{Size, abandon::abandon, actor::Actor, goals, put::put};

pub(super) async fn wait(actor: &Actor, queue: &dyn BoundedQueue) {
    let began = actor.now();
    let pushed = queue.push_or_wait(actor.push(), actor.timeout()).await;
    if let Ok(pushed) = pushed {
        if pushed != Pushed::Full && actor.now() > began {
            actor.reached(goals::WORTHWHILE_WAIT_FOR_ROOM);
        }
        actor.pool.add_pushed(&[pushed]);
    }
}

/// Polls, begins a wait for room, and gives it up. Mostly it makes its push again then, like a caller at its timeout.
/// The poll comes first, because a wait without a poll gets no hint of room that was there all the time.
pub(super) async fn abandon_room(actor: &Actor, any: &AnyQueue, queue: &dyn BoundedQueue) {
    put(actor, any).await;
    abandon(actor, queue.wait_for_room(actor.timeout())).await;
    if actor.flip(60) {
        put(actor, any).await;
    }
}

/// Opens the queue like a client that gets the length from a configuration service. Now and then it is the length that
/// the queue has.
async fn open_or_resize(actor: &Actor) {
    let QueueConfig::Bounded(config) = &actor.workload.config else {
        return;
    };
    let lengths = match actor.workload.size {
        Size::Crowd => [140, 290],
        Size::Usual | Size::Heavy => [4, 14],
    };
    let mut config = config.clone();
    config.capacity = lengths[actor.choose(2) as usize];
    let _ = actor.backend.open_or_resize(&actor.name, &config).await;
}

/// Draws another capacity.
pub(super) fn capacity(actor: &Actor) -> NonZeroUsize {
    let more = match actor.workload.size {
        Size::Crowd => 100 * actor.choose(3) as usize + 28,
        // Batches need room; see `singly`.
        Size::Usual | Size::Heavy if actor.workload.operators => 4 * actor.choose(4) as usize,
        Size::Usual | Size::Heavy => actor.choose(4) as usize,
    };
    NonZeroUsize::MIN.saturating_add(more)
}

pub(super) async fn particular(actor: &Actor, queue: &dyn BoundedQueue) {
    match actor.weigh(&[40, 15, 45, 15]) {
        1 => {
            let _ = queue.capacity().await;
        }
        2 => {
            let _ = queue.resize(capacity(actor)).await;
        }
        3 => open_or_resize(actor).await,
        _ => {
            let _ = queue.recent(1 + actor.choose(4) as usize).await;
        }
    }
}
