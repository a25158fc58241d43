//! Putting messages in, with the options of the queue's kind.

use std::time::Duration;

use queue_core::{
    AnyQueue, Bytes, Distinct, Due, Overflow, Push, QueueKind, TimeToLive,
    limits::{MAX_BATCH, MAX_BATCH_BYTES},
};
use tokio::time;

use super::{actor::Actor, goals, verbs::Verb};
use crate::{plan::Chance, workload::Mode};

/// In runs where a lost hint shows, the chance that a process puts in a message while another process sleeps towards a
/// later due time.
pub(super) const OVERTAKES: Chance = 20;

/// Puts a batch in.
pub(super) async fn put(actor: &Actor, queue: &AnyQueue) {
    if overtakes(actor, queue).await {
        return;
    }
    let mut batch: Vec<Push> = (0..actor.batch()).map(|_| actor.push()).collect();
    if actor.workload.kind == QueueKind::Bounded {
        let overflow = [Overflow::Reject, Overflow::DropOldest][actor.choose(2) as usize];
        batch.iter_mut().for_each(|push| push.overflow = overflow);
    }
    put_all(actor, queue, &batch).await;
}

/// Puts in messages without anything but body, headers and dedup key.
pub(super) async fn put_plain(actor: &Actor, queue: &AnyQueue, count: usize) {
    let batch: Vec<_> = (0..count).map(|_| actor.message()).collect();
    put_all(actor, queue, &batch).await;
}

/// Puts this batch in, split where it exceeds one call.
async fn put_all(actor: &Actor, queue: &AnyQueue, batch: &[Push]) {
    let Some(pushed) = actor.insist(|| queue.put_all(batch)).await else {
        return;
    };
    if batch.len() > MAX_BATCH {
        actor.reached(goals::BEYOND_ONE_BATCH);
    }
    if batch.iter().map(Push::size).sum::<usize>() > MAX_BATCH_BYTES {
        actor.reached(goals::BEYOND_ONE_CALLS_BYTES);
    }
    actor.pool.add_pushed(&pushed);
}

/// In runs where a lost hint shows, perhaps puts in a message that is due late. When waiting processes have learnt of
/// it, puts in a message that is due sooner, or moves the first one. Then keeps still for so long that a process that
/// sleeps through the second message shows. Returns true if it did.
pub(super) async fn overtakes(actor: &Actor, queue: &AnyQueue) -> bool {
    let delays = actor.workload.kind == QueueKind::Delay;
    let may = delays || matches!(actor.verb, Verb::PutLater | Verb::Reschedule);
    if actor.workload.mode != Mode::Waiting || !may || !actor.flip(OVERTAKES) {
        return false;
    }
    let late = actor.workload.longest();
    let soon = actor.workload.lease_time * (1 + actor.choose(2));
    let due = |delay: Duration| {
        let mut push = actor.message_without_due().with_due(delay);
        // The backend sends no hint for a duplicate.
        push.dedup = None;
        push
    };
    let Ok(pushed) = queue.put(&[due(late)]).await else {
        return true;
    };
    actor.pool.add_pushed(&pushed);
    time::sleep(Duration::from_millis(1)).await;
    match (actor.verb, queue.leasing(), &pushed[..]) {
        (Verb::Reschedule, Some(queue), [pushed]) => {
            let ids: Vec<_> = pushed.id().into_iter().collect();
            let delay = [soon, Duration::ZERO][actor.choose(2) as usize];
            let _ = queue.reschedule(&ids, delay.into()).await;
        }
        _ => match queue.put(&[due(soon)]).await {
            Ok(pushed) => actor.pool.add_pushed(&pushed),
            Err(_) => return true,
        },
    }
    time::sleep(Duration::from_millis(1)).await;
    time::sleep(late / 2).await;
    true
}

impl Actor {
    /// A message with the options of the queue's kind, perhaps with a distinct key.
    pub(super) fn push(&self) -> Push {
        let push = self.message();
        let mut push = match self.workload.kind {
            QueueKind::Priority => push.with_priority(self.priority()),
            QueueKind::Grouped => push.with_group(self.group()),
            QueueKind::Delay => {
                let due = self.due();
                self.outliving(push.with_due(due), due)
            }
            _ => push,
        };
        if self.workload.distinct > 0 && self.flip(self.workload.distinct) {
            push.distinct = Some(self.distinct());
        }
        push
    }

    /// A distinct key, perhaps with a longest wait. That is not drawn, so that plans from before there were longest
    /// waits still play the same run.
    fn distinct(&self) -> Distinct {
        let distinct = Distinct::new(self.key());
        let lease_time = self.workload.lease_time;
        match self.now().as_millis() % 5 {
            0 | 1 => distinct,
            2 => distinct.at_latest(Duration::from_millis(1)),
            3 => distinct.at_latest(lease_time),
            _ => distinct.at_latest(lease_time * 2),
        }
    }

    /// Lets a message live longer than its delay; otherwise the queue would refuse it.
    pub(super) fn outliving(&self, mut push: Push, due: Due) -> Push {
        if let (Some(time_to_live), Due::After(delay)) = (&mut push.time_to_live, due) {
            let TimeToLive { limit, .. } = time_to_live;
            *limit += delay;
            self.expects(*limit);
        }
        push
    }

    /// A priority: mostly one of a few, so that equal ones meet. The extremes are drawn, too, and neighbours that
    /// differ in sign, length or byte.
    fn priority(&self) -> i16 {
        const PRIORITIES: [i16; 12] = [0, 1, 2, -1, 9, 10, -10, 255, 256, -256, i16::MAX, i16::MIN];
        PRIORITIES[self.weigh(&[30, 15, 10, 10, 5, 5, 5, 3, 3, 3, 6, 5]) as usize]
    }

    /// The key of a group: mostly a busy one or one of a few, so that messages wait for each other. Of the others many
    /// are alone in their group. Keys are any bytes, and one begins as another. `B` and `a` have another order in most
    /// locales than by their bytes.
    pub(super) fn group(&self) -> Bytes {
        const KEYS: [&[u8]; 6] = [b"B", b"a", b"aB", b"\0", b"\xff\xff", &[7; 256]];
        match self.weigh(&[40, 20, 15, 5, 5, 3, 12]) as usize {
            lonely if lonely == KEYS.len() => {
                Bytes::from(format!("lonely-{}", self.pool.next_body()))
            }
            known => Bytes::from_static(KEYS[known]),
        }
    }
}
