use std::num::NonZeroUsize;

use queue_core::{Inserted, Message, Page, QueueConfig, RotatingQueue, RotatingQueueExt};

use super::{actor::Actor, goals, verbs::Verb};

pub(super) async fn act(actor: &Actor, queue: &dyn RotatingQueue, verb: Verb) {
    match verb {
        Verb::Put => insert(actor, queue).await,
        Verb::Take => {
            if let Ok(rotated) = queue.rotate(max(actor)).await {
                visited(actor, &rotated.items);
            }
        }
        Verb::Receive => {
            let (max, timeout) = (max(actor).get(), actor.timeout());
            if let Ok(items) = queue.visit(max, timeout).await {
                visited(actor, &items);
            }
        }
        Verb::Particular => remove(actor, queue).await,
        Verb::Read => read(actor, queue).await,
        _ => {}
    }
}

fn max(actor: &Actor) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(actor.weigh(&[55, 20, 10, 10, 5]) as usize)
}

fn visited(actor: &Actor, items: &[Message]) {
    let QueueConfig::Rotating(config) = &actor.workload.config else {
        return;
    };
    if let (Some(pace), false) = (config.pace, items.is_empty()) {
        let millis = u64::try_from(pace.as_millis()).unwrap_or(u64::MAX);
        actor.pool.add_boundary(actor.now().plus_millis(millis));
    }
}

async fn insert(actor: &Actor, queue: &dyn RotatingQueue) {
    let batch: Vec<_> = (0..actor.batch()).map(|_| actor.item()).collect();
    for _ in 0..3 {
        match queue.insert(&batch).await {
            Ok(inserted) => {
                for inserted in inserted {
                    match inserted {
                        Inserted::Added(id) => actor.pool.add_id(id),
                        Inserted::Present(_) => actor.reached(goals::PRESENT),
                    }
                }
                return;
            }
            Err(error) if !actor.repeats(&error) => return,
            Err(_) => {}
        }
    }
}

async fn remove(actor: &Actor, queue: &dyn RotatingQueue) {
    let removed = queue.remove(&actor.ids()).await;
    if removed.is_ok_and(|count| count > 0) {
        actor.reached(goals::REMOVAL);
    }
}

async fn read(actor: &Actor, queue: &dyn RotatingQueue) {
    if actor.flip(30) {
        let _ = queue.len().await;
        return;
    }
    let limit = if actor.flip(40) { 1 } else { 100 };
    let Ok(first) = queue.list(Page::first(limit)).await else {
        return;
    };
    if let Some(cursor) = first.next {
        actor.reached(goals::SECOND_PAGE_OF_RING);
        let _ = queue.list(Page::after(cursor, limit)).await;
    }
}
