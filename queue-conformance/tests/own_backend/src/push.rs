//! Pushing messages, and giving them another due time.

use queue_core::*;

use super::state::{KeyHolder, Mark, State, Stored};

impl State {
    /// Accepts a message unless its dedup key has a live mark (L9), in place of the undelivered message that holds its
    /// distinct key (B7). Until its due time, if it has one, it is delayed (D1). Its time to live counts from here
    /// (L17).
    pub(crate) fn push(&mut self, push: &Push, now: Timestamp) -> Pushed {
        if let Some(dedup) = &push.dedup
            && let Some(mark) = self.marks.get(&dedup.key)
        {
            return Pushed::Duplicate(mark.first);
        }
        let replaced = push
            .distinct
            .as_ref()
            .and_then(|distinct| self.replace(distinct));
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
        let mut due = push.due.map_or(now, |due| due.resolve(now));
        if let Some(Distinct { key, longest, .. }) = &push.distinct {
            let first = replaced.as_ref().and_then(|replaced| replaced.first);
            let first = longest.map(|_| first.unwrap_or(now));
            if let (Some(first), Some(longest)) = (first, longest) {
                due = due.min(first.plus_millis(millis_ceil(*longest)));
            }
            self.keys.insert(key.clone(), KeyHolder { id, first });
        }
        match due > now {
            true => drop(self.delayed.insert((due, id))),
            false => self.join(id, now),
        }
        match replaced {
            Some(KeyHolder { id: replaced, .. }) => Pushed::Replaced { id, replaced },
            None => Pushed::Accepted(id),
        }
    }

    /// Removes the message that holds the key, unless it is leased.
    fn replace(&mut self, distinct: &Distinct) -> Option<KeyHolder> {
        let holder = *self.keys.get(&distinct.key)?;
        if !self.take_out(holder.id) {
            return None;
        }
        self.remove(holder.id);
        self.counters.replaced += 1;
        Some(holder)
    }

    /// Moves a delayed message to another due time (D4).
    pub(crate) fn reschedule(&mut self, id: MessageId, due: Timestamp) -> Rescheduled {
        let before = self.delayed.len();
        self.delayed.retain(|(_, delayed)| *delayed != id);
        if self.delayed.len() == before {
            return Rescheduled::TooLate;
        }
        self.delayed.insert((due, id));
        Rescheduled::Moved
    }
}
