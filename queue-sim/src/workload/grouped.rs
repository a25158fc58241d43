use std::time::Duration;

use queue_core::{
    Bytes, GroupChange, GroupRule, GroupedQueue, GroupedQueueExt, Keyed, Page, Paged,
};

use tokio::time;

use super::{actor::Actor, lost_hints};
use crate::workload::Mode;

pub(super) async fn put(actor: &Actor, queue: &dyn GroupedQueue) {
    let one = |_| Keyed::new(actor.message(), group(actor));
    let batch: Vec<_> = (0..actor.batch()).map(one).collect();
    if let Some(pushed) = actor.insist(|| queue.push_keyed_all(&batch)).await {
        actor.put_in(batch.iter().map(|each| &each.push));
        actor.pool.add_pushed(&pushed);
    }
}

/// Shows the groups, a page or two; or gives a group a rule or a pause, or ends it.
pub(super) async fn particular(actor: &Actor, queue: &dyn GroupedQueue) {
    if actor.workload.mode == Mode::Waiting && actor.flip(40) {
        return resume_late(actor, queue).await;
    }
    if actor.choose(3) == 0 {
        let (key, change) = (group(actor), change(actor));
        let change = || queue.change_group(key.clone(), change.clone());
        actor.insist(change).await;
        return;
    }
    let limit = 1 + actor.choose(3) as usize;
    let first = queue.groups(Page::first(limit)).await;
    if let Ok(Paged {
        next: Some(next), ..
    }) = first
    {
        let _ = queue.groups(Page::after(next, limit)).await;
    }
}

/// Pauses a group, pushes a message to it while others come to wait, and resumes it. A process without the hint of that
/// sleeps too long.
async fn resume_late(actor: &Actor, queue: &dyn GroupedQueue) {
    let key = group(actor);
    let long = actor.workload.longest();
    if queue.pause_group(key.clone(), long * 4).await.is_err() {
        return;
    }
    let message = actor.message();
    if let Ok(pushed) = queue.push_keyed_one(message.clone(), key.clone()).await {
        actor.put_in([&message].into_iter());
        actor.pool.add_pushed(&[pushed]);
    }
    time::sleep(long / 4).await;
    let _ = queue.resume_group(key).await;
    lost_hints::keep_still(actor).await;
}

fn change(actor: &Actor) -> GroupChange {
    let lasts = Duration::from_millis([1, 20, 60, 400][actor.choose(4) as usize]);
    match actor.weigh(&[3, 3, 1, 1]) {
        0 => {
            let weight = [1, 2, 3, 1_000][actor.choose(4) as usize];
            let rule = GroupRule::lasting(lasts).with_weight(weight);
            GroupChange::Rule(match actor.choose(4) {
                0 => rule.with_at_once(1),
                1 => rule.with_at_once(3),
                _ => rule,
            })
        }
        1 => GroupChange::Pause(lasts),
        2 => GroupChange::NoRule,
        _ => GroupChange::Resume,
    }
}

/// The key of a group: mostly a busy one or one of a few, so that messages wait for each other. Of the others many are
/// alone in their group. Keys are any bytes, and one begins as another. `B` and `a` have another order in most locales
/// than by their bytes.
fn group(actor: &Actor) -> Bytes {
    const KEYS: [&[u8]; 6] = [b"B", b"a", b"aB", b"\0", b"\xff\xff", &[7; 256]];
    match actor.weigh(&[40, 20, 15, 5, 5, 3, 12]) as usize {
        lonely if lonely == KEYS.len() => Bytes::from(format!("lonely-{}", actor.pool.next_body())),
        known => Bytes::from_static(KEYS[known]),
    }
}
