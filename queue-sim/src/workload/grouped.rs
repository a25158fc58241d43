use std::time::Duration;

use queue_core::{GroupChange, GroupRule, GroupedQueue, GroupedQueueExt, LeasingExt, Page, Paged};
use tokio::time;

use super::{actor::Actor, lost_hints};
use crate::workload::Mode;

/// Shows the groups, a page or two; or gives a group a rule, perhaps with a rate, or a pause, or ends it.
pub(super) async fn particular(actor: &Actor, queue: &dyn GroupedQueue) {
    if actor.workload.mode == Mode::Waiting && actor.flip(40) {
        return resume_late(actor, queue).await;
    }
    if actor.choose(3) == 0 {
        let (key, change) = (actor.group(), change(actor));
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
    let key = actor.group();
    let long = actor.workload.longest();
    if queue.pause_group(key.clone(), long * 4).await.is_err() {
        return;
    }
    let message = actor.message().with_group(key.clone());
    if let Ok(pushed) = queue.push_one(message).await {
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
            let rule = match actor.choose(4) {
                0 => rule.with_at_once(1),
                1 => rule.with_at_once(3),
                _ => rule,
            };
            GroupChange::Rule(match actor.choose(5) {
                3 => rule.with_rate(1, Duration::from_millis(5)),
                4 => rule.with_rate(3, Duration::from_millis(30)),
                _ => rule,
            })
        }
        1 => GroupChange::Pause(lasts),
        2 => GroupChange::NoRule,
        _ => GroupChange::Resume,
    }
}
