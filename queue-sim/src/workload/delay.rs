use std::time::Duration;

use queue_core::{Cancelled, DelayQueue, DelayQueueExt, Due, Rescheduled, Scheduled, Timestamp};
use tokio::time;

use super::{actor::Actor, goals, plain::accepted};
use crate::{plan::Chance, workload::Mode};

/// Where a lost hint shows: the chance that a lane puts a message in while another sleeps towards a
/// later due time.
const OVERTAKES: Chance = 20;

pub(super) async fn put(actor: &Actor, queue: &dyn DelayQueue) {
    if actor.workload.mode == Mode::Waiting && actor.flip(OVERTAKES) {
        return overtake(actor, queue).await;
    }
    let one = |_| Scheduled::new(actor.message(), due(actor));
    let batch: Vec<_> = (0..actor.batch()).map(one).collect();
    for _ in 0..3 {
        match queue.schedule_all(&batch).await {
            Ok(pushed) => {
                actor.put_in(batch.iter().map(|each| &each.push));
                return accepted(actor, &pushed);
            }
            Err(error) if !actor.repeats(&error) => return,
            Err(_) => {}
        }
    }
}

/// Puts in a message that is due late. When waiting lanes have learnt of it, puts in one that is
/// due sooner. Then keeps still for so long that a lane that sleeps through the second one shows.
async fn overtake(actor: &Actor, queue: &dyn DelayQueue) {
    let late = actor.workload.longest_delay();
    let soon = actor.workload.ttl * (1 + actor.choose(2));
    let mut puts = [late, soon].map(|delay| Scheduled::new(actor.message(), Due::After(delay)));
    for put in &mut puts {
        // The backend sends no hint for a duplicate.
        put.push.dedup = None;
    }
    for put in puts {
        match queue.schedule(&[put]).await {
            Ok(pushed) => accepted(actor, &pushed),
            Err(_) => return,
        }
        time::sleep(Duration::from_millis(1)).await;
    }
    time::sleep(late / 2).await;
}

/// A due time: soon, now, or in the past.
fn due(actor: &Actor) -> Due {
    let span = actor.span();
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let now = actor.now();
    match actor.weigh(&[60, 30, 10]) {
        1 => {
            actor.pool.add_boundary(now.plus_millis(millis));
            Due::At(now.plus_millis(millis))
        }
        2 => Due::At(Timestamp::from_millis(now.as_millis() - millis)),
        _ => {
            actor.pool.add_boundary(now.plus_millis(millis));
            Due::After(span)
        }
    }
}

pub(super) async fn particular(actor: &Actor, queue: &dyn DelayQueue) {
    if actor.flip(25) {
        actor.sleep().await;
    }
    match actor.weigh(&[20, 40, 40]) {
        1 => {
            let ids = actor.ids();
            if let Ok(answers) = queue.cancel(&ids).await {
                if answers.contains(&Cancelled::Cancelled) {
                    actor.reached(goals::CANCELLATION);
                }
                if answers.contains(&Cancelled::TooLate) {
                    actor.reached(goals::LATE_CANCELLATION);
                }
            }
        }
        2 => {
            let id = actor.ids()[0];
            let moved = queue.reschedule(id, due(actor)).await;
            if moved.is_ok_and(|moved| moved == Rescheduled::Moved) {
                actor.reached(goals::RESCHEDULING);
            }
        }
        _ => {
            let _ = queue.next_due().await;
        }
    }
}
