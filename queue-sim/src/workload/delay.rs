use queue_core::DelayQueue;

use super::actor::Actor;

pub(super) async fn particular(actor: &Actor, queue: &dyn DelayQueue) {
    if actor.flip(25) {
        actor.sleep().await;
    }
    match actor.weigh(&[20, 40, 40]) {
        1 => {
            let _ = queue.cancel(&actor.ids()).await;
        }
        2 => {
            let _ = queue.reschedule(&actor.ids(), actor.due()).await;
        }
        _ => {
            let _ = queue.next_due().await;
        }
    }
}
