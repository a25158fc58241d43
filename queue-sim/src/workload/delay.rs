use queue_core::{Cancelled, DelayQueue, Due, Rescheduled, Scheduled, Timestamp};

use super::{actor::Actor, goals, reliable::accepted};

pub(super) async fn put(actor: &Actor, queue: &dyn DelayQueue) {
    let one = |_| Scheduled::new(actor.message(), due(actor));
    let batch: Vec<_> = (0..actor.batch()).map(one).collect();
    for _ in 0..3 {
        match queue.schedule(&batch).await {
            Ok(pushed) => return accepted(actor, &pushed),
            Err(error) if !actor.repeats(&error) => return,
            Err(_) => {}
        }
    }
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
