use std::time::Duration;

use queue_core::{DelayQueue, DelayQueueExt, Due, Scheduled};
use tokio::time;

use super::actor::Actor;
use crate::{plan::Chance, workload::Mode};

/// In runs where a lost hint shows, the chance that a process puts in a message while another process sleeps towards a
/// later due time.
pub(super) const OVERTAKES: Chance = 20;

pub(super) async fn put(actor: &Actor, queue: &dyn DelayQueue) {
    if actor.workload.mode == Mode::Waiting && actor.flip(OVERTAKES) {
        return overtake(actor, queue).await;
    }
    let one = |_| actor.scheduled();
    let batch: Vec<_> = (0..actor.batch()).map(one).collect();
    if let Some(pushed) = actor.insist(|| queue.schedule_all(&batch)).await {
        actor.put_in(batch.iter().map(|each| &each.push));
        actor.pool.add_pushed(&pushed);
    }
}

/// Puts in a message that is due late. When waiting processes have learnt of it, puts in a message that is due sooner.
/// Then keeps still for so long that a process that sleeps through the second message shows.
async fn overtake(actor: &Actor, queue: &dyn DelayQueue) {
    let late = actor.workload.longest();
    let soon = actor.workload.lease_time * (1 + actor.choose(2));
    let mut puts = [late, soon].map(|delay| Scheduled::new(actor.message(), Due::After(delay)));
    for put in &mut puts {
        // The backend sends no hint for a duplicate, and refuses a message that is outdated when it
        // is due.
        put.push.dedup = None;
        put.push.time_to_live = None;
    }
    for put in puts {
        match queue.schedule(&[put]).await {
            Ok(pushed) => actor.pool.add_pushed(&pushed),
            Err(_) => return,
        }
        time::sleep(Duration::from_millis(1)).await;
    }
    time::sleep(late / 2).await;
}

pub(super) async fn particular(actor: &Actor, queue: &dyn DelayQueue) {
    if actor.flip(25) {
        actor.sleep().await;
    }
    match actor.weigh(&[20, 40, 40]) {
        1 => {
            let _ = queue.cancel(&actor.ids()).await;
        }
        2 => {
            let id = actor.ids()[0];
            let _ = queue.reschedule(id, actor.due()).await;
        }
        _ => {
            let _ = queue.next_due().await;
        }
    }
}
