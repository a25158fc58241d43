//! Batches that wait until they are full, or until their time is over.

use tokio::time::Instant;

use super::{
    Runner,
    alarm::Alarm,
    in_flight::LeasedBody,
    served::{Gathering, ServedQueue},
};
use crate::later::after;

impl ServedQueue {
    /// Messages that the waiting batch lacks.
    pub(super) fn room(&self) -> usize {
        let gathering = self.gathering.as_ref();
        gathering.map_or(0, |batch| self.terms.batch - batch.messages.len())
    }
}

impl Runner {
    /// Adds messages to the queue's waiting batch, and starts full ones.
    pub(super) fn gather(&mut self, index: usize, messages: Vec<LeasedBody>, now: Instant) {
        for message in messages {
            let served = &mut self.queues[index];
            let batch = served.gathering.get_or_insert_with(|| Gathering {
                messages: Vec::with_capacity(served.terms.batch),
                until: after(now, served.terms.batch_wait),
            });
            batch.messages.push(message);
            if batch.messages.len() == served.terms.batch {
                self.start_batch(index, now);
            }
        }
    }

    /// Starts the batches whose time is over. Returns true if there were any.
    pub(super) fn start_gathered(&mut self, alarm: &mut Alarm) -> bool {
        let mut started = false;
        for index in 0..self.queues.len() {
            let gathering = &self.queues[index].gathering;
            if gathering
                .as_ref()
                .is_some_and(|batch| alarm.has_come(batch.until))
            {
                self.start_batch(index, alarm.now);
                started = true;
            }
        }
        started
    }

    fn start_batch(&mut self, index: usize, now: Instant) {
        let Some(mut batch) = self.queues[index].gathering.take() else {
            return;
        };
        // The process may have stood still while the batch waited.
        batch
            .messages
            .retain(|message| self.is_in_time(index, message, now));
        if !batch.messages.is_empty() {
            self.shares.charge(index, 1);
            self.start(index, batch.messages);
        }
    }

    /// Releases the messages of all waiting batches.
    pub(super) fn release_gathered(&mut self, now: Instant) {
        for served in &mut self.queues {
            let gathering = served.gathering.take();
            let messages = gathering.into_iter().flat_map(|batch| batch.messages);
            let released = messages.map(|message| message.release(now));
            served.pending.extend(released);
        }
    }

    /// The slots of waiting batches.
    pub(super) fn gathering_slots(&self) -> usize {
        self.queues
            .iter()
            .filter(|served| served.gathering.is_some())
            .count()
    }
}
