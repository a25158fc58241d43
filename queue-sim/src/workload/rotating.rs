use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    Feature, Insert, Inserted, Message, Page, QueueConfig, RotatingQueue, RotatingQueueExt,
    limits::{MAX_BATCH, MAX_BATCH_BYTES},
};

use super::{
    abandon::abandon, actor::Actor, goals, lost_hints, operators::PAGES_AT_ONCE, verbs::Verb,
};
use crate::world::Fault;

pub(super) async fn act(actor: &mut Actor, queue: &dyn RotatingQueue, verb: Verb) {
    match verb {
        Verb::Put => insert(actor, queue).await,
        Verb::Take => take(actor, queue).await,
        Verb::Receive => {
            let (max, timeout) = (max(actor).get(), actor.timeout());
            if let Ok(items) = queue.visit(max, timeout).await {
                visited(actor, &items);
                if !items.is_empty() && lost_hints::works(actor) {
                    lost_hints::keep_still(actor).await;
                }
            }
        }
        Verb::Abandon => {
            take(actor, queue).await;
            abandon(actor, queue.wait_for_turn(actor.timeout())).await;
            if actor.flip(50) {
                take(actor, queue).await;
            }
        }
        Verb::Particular => remove(actor, queue).await,
        Verb::Read => read(actor, queue).await,
        Verb::Reconfigure => reconfigure(actor).await,
        _ => {}
    }
}

fn max(actor: &Actor) -> NonZeroUsize {
    let few = 1 + actor.weigh(&[55, 20, 10, 10, 5]) as usize;
    NonZeroUsize::new(actor.or_a_handful(few)).unwrap_or(NonZeroUsize::MIN)
}

async fn take(actor: &Actor, queue: &dyn RotatingQueue) {
    if let Ok(rotated) = queue.rotate(max(actor)).await {
        visited(actor, &rotated.items);
    }
}

fn visited(actor: &Actor, items: &[Message]) {
    if items.len() == MAX_BATCH {
        actor.reached(goals::FULL_HANDFUL);
    }
    let QueueConfig::Rotating(config) = &actor.workload.config else {
        return;
    };
    if let (Some(pace), false) = (config.pace, items.is_empty()) {
        actor.expects(pace);
    }
}

/// Changes the pace: to none, or to a pace no longer than a lease or the first pace, so that the drain has the time
/// that it needs. If the clock may step back, the pace stays, because it is then open which item of a paced ring is due
/// first.
async fn reconfigure(actor: &Actor) {
    let guarantees = actor.backend.guarantees(actor.workload.kind);
    let steps_back = actor.context.faults.chance(Fault::ClockBack) > 0;
    if steps_back || !guarantees.has(Feature::Stored) {
        return;
    }
    let mut changed = actor.workload.config.clone();
    let QueueConfig::Rotating(config) = &mut changed else {
        return;
    };
    let paces = [
        None,
        Some(Duration::from_millis(1)),
        Some(actor.workload.lease_time),
        config.pace,
    ];
    config.pace = paces[actor.choose(4) as usize];
    let pace = config.pace;
    let done = actor.backend.reconfigure(&actor.name, &changed).await;
    if let (Ok(true), Some(pace)) = (done, pace) {
        actor.expects(pace);
    }
}

async fn insert(actor: &Actor, queue: &dyn RotatingQueue) {
    // Entries beyond one call wait for another time, because no caller here splits a batch.
    let most = actor.batch().min(MAX_BATCH as u32);
    let mut batch: Vec<_> = (0..most).map(|_| actor.item()).collect();
    limits_of_a_call(&mut batch);
    let inserted = actor.insist(|| queue.insert(&batch)).await;
    for inserted in inserted.into_iter().flatten() {
        if let Inserted::Added(id) = inserted {
            actor.pool.add_id(id);
        }
    }
}

/// Truncates a batch to what one call may carry.
fn limits_of_a_call(batch: &mut Vec<Insert>) {
    let mut bytes = 0;
    batch.retain(|item| {
        bytes += item.body.len() + 1;
        bytes <= MAX_BATCH_BYTES
    });
}

async fn remove(actor: &Actor, queue: &dyn RotatingQueue) {
    let _ = queue.remove(&actor.ids()).await;
}

/// Reads the ring's length, or reads the ring page by page, perhaps from the end of an earlier page, while other
/// processes visit items.
async fn read(actor: &mut Actor, queue: &dyn RotatingQueue) {
    if actor.flip(30) {
        let _ = queue.len().await;
        return;
    }
    let limit = actor.page_limit();
    let mut page = actor.page(limit);
    for _ in 0..PAGES_AT_ONCE {
        let Ok(read) = queue.list(page).await else {
            return;
        };
        if page.after.is_some() {
            actor.reached(goals::SECOND_PAGE_OF_RING);
        }
        actor.page_end = read.next;
        let Some(cursor) = read.next else {
            return;
        };
        match actor.draw(4, 40) {
            1 => return,
            2 => take(actor, queue).await,
            3 => remove(actor, queue).await,
            _ => {}
        }
        page = Page::after(cursor, limit);
    }
}
