//! Messages to put in.

use std::{sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use queue_core::{Due, Insert, Outdated, Push, QueueKind, TimeToLive, Timestamp};

use super::{Size, actor::Actor, size, verbs::Verb};
use crate::world::Fault;

const KEYS: [&str; 3] = ["k0", "k1", "k2"];
const BODIES: [&str; 3] = ["a", "b", ""];

const LONGER_THAN_A_RUN: Duration = Duration::from_secs(60 * 60);

impl Actor {
    /// The number of messages in the next batch.
    pub(super) fn batch(&self) -> u32 {
        let few = 1 + self.choose(self.workload.batch);
        self.heavy.store(false, Ordering::Relaxed);
        match self.workload.size {
            Size::Crowd if self.flip(50) => size::crowd(|options| self.choose(options)),
            Size::Heavy if self.flip(40) => {
                self.heavy.store(true, Ordering::Relaxed);
                9 + self.choose(3)
            }
            _ => few,
        }
    }

    /// A body. Equal bodies are frequent, and belong to different messages.
    fn body(&self) -> Bytes {
        if self.heavy.load(Ordering::Relaxed) {
            return size::large(self.flip(20));
        }
        match self.choose(4) {
            0 => Bytes::from(self.pool.next_body().to_be_bytes().to_vec()),
            equal => Bytes::from_static(BODIES[equal as usize - 1].as_bytes()),
        }
    }

    /// A key out of a few, so that keys collide.
    pub(super) fn key(&self) -> Bytes {
        Bytes::from_static(KEYS[self.choose(3) as usize].as_bytes())
    }

    /// A message, perhaps with a dedup key. By the step's verb, it has a due time, is unique until it is done, or has a
    /// time to live.
    pub(super) fn message(&self) -> Push {
        let push = self.message_without_due();
        match self.verb {
            Verb::PutLater => push.with_due(self.due()),
            Verb::PutUnique => push.with_unique(self.key(), self.longest()),
            Verb::PutOutdating => self.outdating(push),
            _ => push,
        }
    }

    /// Gives a message a time to live of about a lease's time, and now and then a due time within
    /// it.
    fn outdating(&self, mut push: Push) -> Push {
        let limit = self.span().max(Duration::from_millis(1));
        let then = [Outdated::Drop, Outdated::Bury][self.choose(2) as usize];
        push.time_to_live = Some(TimeToLive { limit, then });
        self.expects(limit);
        // On a delay queue, each message gets one.
        if self.workload.kind == QueueKind::Delay || !self.flip(25) {
            return push;
        }
        let due = self.due();
        self.outliving(push.with_due(due), due)
    }

    /// A message, perhaps with a dedup key.
    pub(super) fn message_without_due(&self) -> Push {
        let mut push = Push::new(self.body());
        if self.flip(5) {
            push = push.with_header("h", "1");
        }
        if self.workload.dedup > 0 && self.flip(self.workload.dedup) {
            push = push.with_dedup(self.key(), self.window());
        }
        push
    }

    /// A due time: soon, now, or in the past.
    pub(super) fn due(&self) -> Due {
        let span = self.span();
        let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let now = self.now();
        match self.weigh(&[60, 30, 10]) {
            1 => {
                self.expects(span);
                Due::At(now.plus_millis(millis))
            }
            2 => Due::At(Timestamp::from_millis(now.as_millis() - millis)),
            _ => {
                self.expects(span);
                Due::After(span)
            }
        }
    }

    /// The time for which the queue remembers a push: about a lease's time.
    fn window(&self) -> Duration {
        // The contract leaves open whether an ended mark comes back when the clock steps back. So under that fault, no
        // mark ends before the run does.
        if self.context.faults.chance(Fault::ClockBack) > 0 {
            return LONGER_THAN_A_RUN;
        }
        let window = self.span().max(Duration::from_millis(1));
        self.expects(window);
        window
    }

    /// The longest time for which a message is unique: about a lease's time, or until it is done.
    fn longest(&self) -> Duration {
        match self.choose(2) {
            0 => self.window(),
            _ => LONGER_THAN_A_RUN,
        }
    }

    /// An item for a ring, perhaps under a key.
    pub(super) fn item(&self) -> Insert {
        let item = Insert::new(self.body());
        if self.flip(40) {
            return item.with_key(self.key());
        }
        item
    }
}
