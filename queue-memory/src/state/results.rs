//! Results that acks keep (S1, S2).

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use queue_core::{KeptResult, MessageId, Timestamp, limits, millis_ceil};

use super::entry::KEPT;

/// The results of a queue, until their time is over.
#[derive(Debug, Default)]
pub(crate) struct Results {
    by_id: HashMap<MessageId, (Timestamp, Bytes)>,
    /// By the end of their time.
    ends: BTreeSet<(Timestamp, MessageId)>,
}

impl Results {
    /// Stores the result of a message that is acked now. Drops the results whose time is over, and up to 128 of
    /// those beyond the number that the queue may hold.
    pub(crate) fn keep(&mut self, id: MessageId, kept: &KeptResult, now: Timestamp) {
        while let Some((end, first)) = self.ends.first().copied()
            && end <= now
        {
            self.remove(end, first);
        }
        let end = now.plus_millis(millis_ceil(kept.time));
        self.by_id.insert(id, (end, kept.result.clone()));
        self.ends.insert((end, id));
        let at_most = usize::try_from(kept.at_most.get()).unwrap_or(usize::MAX);
        planted!(ResultsWithoutBound => at_most = usize::MAX);
        let excess = self.ends.len().saturating_sub(at_most);
        for _ in 0..excess.min(limits::MAX_BATCH) {
            if let Some((end, first)) = self.ends.first().copied() {
                self.remove(end, first);
            }
        }
    }

    #[cfg(feature = "journal")]
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// The result of a message, while its time is not over.
    pub(crate) fn get(&self, id: MessageId, now: Timestamp) -> Option<Bytes> {
        let (end, result) = self.by_id.get(&id)?;
        let over = *end <= now;
        planted!(ResultOutlivesItsTime => over = false);
        (!over).then(|| result.clone())
    }

    fn remove(&mut self, end: Timestamp, id: MessageId) {
        self.ends.remove(&(end, id));
        self.by_id.remove(&id);
        if self.by_id.is_empty() && self.by_id.capacity() > 2 * KEPT {
            self.by_id = HashMap::new();
        }
    }
}

coded!(Results { by_id, ends });
