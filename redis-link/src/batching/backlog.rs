use std::{collections::BTreeMap, mem::size_of};

use queue_core::Result;
use tokio::sync::oneshot;

use super::SendBatch;

/// The waiting callers, in the order of arrival.
pub(super) struct Backlog<V: SendBatch> {
    waiting: BTreeMap<u64, QueuedRequests<V>>,
    next: u64,
    /// The bytes of all entries, each with its own overhead.
    bytes: usize,
    room: usize,
}

pub(super) struct QueuedRequests<V: SendBatch> {
    pub(super) entries: Vec<V::Request>,
    pub(super) answer: oneshot::Sender<Result<Vec<V::Reply>>>,
}

impl<V: SendBatch> QueuedRequests<V> {
    fn bytes(&self) -> usize {
        self.entries.iter().map(V::size).sum()
    }

    fn held(&self) -> usize {
        self.bytes() + self.entries.len() * size_of::<V::Request>()
    }
}

impl<V: SendBatch> Backlog<V> {
    /// An empty backlog with room for `room` bytes.
    pub(super) const fn new(room: usize) -> Self {
        Self {
            waiting: BTreeMap::new(),
            next: 0,
            bytes: 0,
            room,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Adds a caller at the end. Returns its number, or the caller itself if there is no room.
    pub(super) fn join(&mut self, who: QueuedRequests<V>) -> Result<u64, QueuedRequests<V>> {
        let held = who.held();
        if self.bytes + held > self.room && !self.is_empty() {
            return Err(who);
        }
        self.bytes += held;
        self.next += 1;
        self.waiting.insert(self.next, who);
        Ok(self.next)
    }

    /// Removes a caller; `None` if it was sent before.
    pub(super) fn leave(&mut self, place: u64) -> Option<QueuedRequests<V>> {
        let who = self.waiting.remove(&place)?;
        self.bytes -= who.held();
        Some(who)
    }

    /// Removes as many callers from the front as fit one batch.
    pub(super) fn next_batch(&mut self) -> Vec<QueuedRequests<V>> {
        let (mut count, mut bytes) = (0, 0);
        let mut batch = Vec::new();
        while let Some((&place, next)) = self.waiting.first_key_value() {
            count += next.entries.len();
            bytes += next.bytes();
            if count > V::MOST.entries || bytes > V::MOST.bytes {
                break;
            }
            batch.extend(self.leave(place));
        }
        batch
    }

    /// Removes all callers.
    pub(super) fn clear(&mut self) -> impl Iterator<Item = QueuedRequests<V>> + use<V> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting).into_values()
    }
}
