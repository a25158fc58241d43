//! Pushing messages.

use queue_core::*;

use super::state::{State, Stored};

impl State {
    /// Accepts a message unless its dedup key has a live mark (L9).
    pub(crate) fn push(&mut self, push: &Push, now: Timestamp) -> Pushed {
        if let Some(dedup) = &push.dedup
            && let Some((first, _)) = self.marks.get(&dedup.key)
        {
            return Pushed::Duplicate(*first);
        }
        self.counters.accepted += 1;
        let id = MessageId::new(self.counters.accepted);
        if let Some(dedup) = &push.dedup {
            let end = now.plus_millis(millis_ceil(dedup.window));
            self.marks.insert(dedup.key.clone(), (id, end));
        }
        self.store(id, push.body.clone(), push.headers.clone(), now, now);
        Pushed::Accepted(id)
    }

    /// Puts a pushed or revived message, which has no attempt yet, at the tail.
    pub(crate) fn store(
        &mut self,
        id: MessageId,
        body: Bytes,
        headers: Headers,
        pushed: Timestamp,
        now: Timestamp,
    ) {
        let stored = Stored {
            body,
            headers,
            pushed,
            attempts: 0,
            failure: None,
            ready_since: now,
            lease: None,
        };
        self.messages.insert(id, stored);
        self.join(id, now);
    }
}
