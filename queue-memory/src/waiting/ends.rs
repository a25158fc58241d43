//! The callers that wait for the ends of messages.

use std::{collections::BTreeMap, task::Waker};

use queue_core::MessageId;

use crate::state::Waitable;

/// The callers that wait for the ends of messages. The queue's lock protects them.
#[derive(Debug, Default)]
pub(crate) struct EndWaiters {
    /// By message, and then in the order of joining.
    waiting: BTreeMap<(MessageId, u64), Waker>,
    last: u64,
}

impl EndWaiters {
    /// A number for a new caller.
    pub(crate) fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds a caller, or replaces its waker; returns the old one, to drop it once the lock is free.
    pub(crate) fn wait(&mut self, id: MessageId, number: u64, waker: &Waker) -> Option<Waker> {
        self.waiting.insert((id, number), waker.clone())
    }

    /// Takes a caller out; returns its waker, to drop it once the lock is free.
    pub(crate) fn leave(&mut self, id: MessageId, number: u64) -> Option<Waker> {
        self.waiting.remove(&(id, number))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes out the callers whose messages have ended since the last call.
    pub(crate) fn woken(&mut self, state: &mut impl Waitable) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for id in state.take_ended(true) {
            let waiting = self.waiting.range((id, 0)..=(id, u64::MAX));
            let keys: Vec<_> = waiting.map(|(key, _)| *key).collect();
            wakers.extend(keys.iter().filter_map(|key| self.waiting.remove(key)));
        }
        if self.is_empty() {
            state.take_ended(false);
        }
        wakers
    }

    /// Takes all callers out.
    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}
