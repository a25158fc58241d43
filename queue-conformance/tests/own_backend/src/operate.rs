//! Operators' calls.

use std::ops::Bound::{Excluded, Unbounded};

use queue_core::*;

use super::state::{Line, State, Stored};

impl State {
    pub(crate) fn depth(&self, now: Timestamp) -> Depth {
        // Expired and due messages count as ready, also beyond the 128 that `begin` takes (L7).
        let expired = self.leased.iter().take_while(|(time, _)| *time <= now);
        let due = self.delayed.iter().take_while(|(time, _)| *time <= now);
        let (expired, due) = (expired.count(), due.count());
        Depth::new(
            (self.ready.len() + expired + due) as u64,
            (self.delayed.len() - due) as u64,
            (self.leased.len() - expired) as u64,
            self.dead.len() as u64,
        )
    }

    pub(crate) fn counters(&self, now: Timestamp) -> Counters {
        let returned = self.ready.first_key_value();
        let joined = self.ready.range(Line::Joined(0)..).next();
        let heads = [returned, joined].into_iter().flatten();
        let since = heads.map(|(_, id)| self.messages[id].ready_since).min();
        let mut counters = self.counters;
        counters.dedup_marks = self.marks.len() as u64;
        counters.depth = self.depth(now);
        counters.oldest_ready = since.map(|since| now.since(since));
        counters
    }

    /// Removes ready messages, then delayed ones.
    pub(crate) fn purge(&mut self, max: usize) -> u64 {
        let mut purged = 0;
        while purged < max {
            let ready = self.ready.pop_first().map(|(_, id)| id);
            let next = ready.or_else(|| self.delayed.pop_first().map(|(_, id)| id));
            let Some(id) = next else {
                break;
            };
            self.remove(id);
            purged += 1;
        }
        self.counters.purged += purged as u64;
        purged as u64
    }

    /// Takes an undelivered message out for good (L15).
    pub(crate) fn cancel(&mut self, id: MessageId) -> Cancelled {
        if id.get() == 0 || id.get() > self.counters.accepted {
            return Cancelled::NeverWas;
        }
        if !self.take_out(id) {
            return Cancelled::TooLate;
        }
        self.remove(id);
        self.counters.cancelled += 1;
        Cancelled::Cancelled
    }
}

impl State {
    pub(crate) fn dead_letters(&self, page: Page) -> Paged<DeadLetter> {
        let after = page.after.map_or(0, Cursor::get);
        let rest = || self.dead.range((Excluded(after), Unbounded));
        let sizes = rest().map(|(_, letter)| letter.size());
        let count = limits::fitting(sizes, page.limit);
        let last = rest().take(count).last();
        Paged::new(
            rest().take(count).map(|(_, dead)| dead.clone()).collect(),
            last.filter(|_| rest().count() > count)
                .map(|(number, _)| Cursor::new(*number)),
        )
    }

    pub(crate) fn revive(&mut self, id: MessageId, now: Timestamp, revival: Revival) -> Revived {
        let Some(letter) = self.take_dead(id) else {
            return Revived::NotFound;
        };
        let mut stored = Stored::new(letter.body, letter.headers, letter.pushed_at);
        if revival == Revival::WithState {
            stored.state = letter.state.unwrap_or_default();
        }
        self.messages.insert(id, stored);
        self.join(id, now);
        self.counters.revived += 1;
        Revived::Revived
    }

    pub(crate) fn discard(&mut self, ids: &[MessageId]) -> u64 {
        let found = ids.iter().filter_map(|id| self.take_dead(*id)).count() as u64;
        self.counters.discarded += found;
        found
    }

    fn take_dead(&mut self, id: MessageId) -> Option<DeadLetter> {
        let (number, _) = self.dead.iter().find(|(_, letter)| letter.id == id)?;
        let number = *number;
        self.dead.remove(&number)
    }
}
