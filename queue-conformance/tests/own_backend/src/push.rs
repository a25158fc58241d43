//! Pushing messages.

use queue_core::*;

use super::state::{Mark, State, Stored};

impl State {
    /// Accepts a message unless its dedup key has a live mark (L9). Until its due time, if it has
    /// one, it is delayed (D1). Its time to live counts from here (L17).
    pub(crate) fn push(&mut self, push: &Push, now: Timestamp) -> Pushed {
        if let Some(dedup) = &push.dedup
            && let Some(mark) = self.marks.get(&dedup.key)
        {
            return Pushed::Duplicate(mark.first);
        }
        self.counters.accepted += 1;
        let id = MessageId::new(self.counters.accepted);
        if let Some(dedup) = &push.dedup {
            let mark = Mark {
                first: id,
                end: now.plus_millis(millis_ceil(dedup.window)),
                until_done: dedup.until_done,
            };
            self.marks.insert(dedup.key.clone(), mark);
        }
        let mut stored = Stored::new(push.body.clone(), push.headers.clone(), now);
        if let Some(TimeToLive { limit, then }) = push.time_to_live {
            let end = now.plus_millis(millis_ceil(limit));
            stored.end = Some((end, then));
            self.ends.insert((end, id));
        }
        self.messages.insert(id, stored);
        match push.due.map(|due| due.resolve(now)) {
            Some(due) if due > now => {
                self.delayed.insert((due, id));
            }
            _ => self.join(id, now),
        }
        Pushed::Accepted(id)
    }
}
