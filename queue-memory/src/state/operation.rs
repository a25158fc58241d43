//! Operators' calls: depth, counters, dead letters, purging, cancelling.

use queue_core::{
    Bytes, Cancelled, Counters, DeadLetter, Depth, Due, MessageId, Page, Paged, Rescheduled,
    Revival, Revived, Timestamp,
};

use super::{
    backlog::Backlog,
    dead::Dead,
    entry::{EntryPlace, Past, Slot, StoredMessage},
    kind::Kind,
    leasing::LeasingState,
};

impl<K: Kind> LeasingState<K> {
    pub(crate) fn depth(&mut self, now: Timestamp) -> Depth {
        let now = self.begin(now);
        self.count(now)
    }

    fn count(&mut self, now: Timestamp) -> Depth {
        let expired = self.leases.count_until(now);
        let ready = self.backlog.count_ready(now);
        Depth::new(
            (ready + expired) as u64,
            (self.backlog.len() - ready) as u64,
            (self.leases.len() - expired) as u64,
            self.dead.len() as u64,
        )
    }

    pub(crate) fn counters(&mut self, now: Timestamp) -> Counters {
        let now = self.begin(now);
        let oldest = self.backlog.oldest_ready(&self.entries, now);
        let mut counters = self.counters;
        counters.dedup_marks = self.marks.len() as u64;
        counters.groups = self.backlog.count_groups() as u64;
        counters.depth = self.count(now);
        counters.oldest_ready = oldest.map(|since| now.since(since));
        counters.next_token = self.until_next_token(now);
        counters.paused = self.paused;
        counters
    }

    pub(crate) fn dead_letters(&mut self, now: Timestamp, page: Page) -> Paged<DeadLetter> {
        self.begin(now);
        self.dead.page(page)
    }

    pub(crate) fn revive(
        &mut self,
        now: Timestamp,
        ids: &[MessageId],
        revival: Revival,
    ) -> Vec<Revived> {
        let now = self.begin(now);
        let each = ids.iter();
        each.map(|id| self.revive_one(*id, now, revival)).collect()
    }

    fn revive_one(&mut self, id: MessageId, now: Timestamp, revival: Revival) -> Revived {
        if !self.dead.contains(id) {
            return Revived::NotFound;
        }
        let is_full = self.entries.len() >= self.capacity;
        planted!(RevivalIgnoresCapacity => is_full = false);
        if is_full {
            return Revived::Full;
        }
        let Some(Dead { letter, group }) = self.dead.take(id) else {
            return Revived::NotFound;
        };
        planted!(FreshKeepsTheState => revival = Revival::WithState);
        let mut entry = StoredMessage::with(id, letter.body, letter.headers, now);
        entry.past = Some(Box::new(Past {
            pushed: letter.pushed_at,
            failure: None,
            state: match revival {
                Revival::WithState => letter.state.unwrap_or_default(),
                Revival::Fresh => Bytes::new(),
            },
        }));
        planted!(RevivalLosesTheState => entry.store(Bytes::new()));
        planted!(RevivalKeepsWhy => entry.failed(letter.failure.as_deref()));
        entry.priority = letter.priority;
        entry.group = group;
        planted!(RevivalLosesPriority => entry.priority = 0);
        planted!(RevivalKeepsAttempts => entry.attempts = letter.attempts);
        let slot = self.keep(entry);
        self.backlog.join(&mut self.entries, slot, now);
        self.counters.revived += 1;
        Revived::Revived
    }

    pub(crate) fn discard(&mut self, now: Timestamp, ids: &[MessageId]) -> u64 {
        self.begin(now);
        let found = ids.iter().filter_map(|id| self.dead.take(*id)).count() as u64;
        self.counters.discarded += found;
        found
    }

    /// Returns the removed messages, so that the caller can drop them outside the lock.
    pub(crate) fn purge(&mut self, now: Timestamp, max: usize) -> Vec<StoredMessage> {
        self.begin(now);
        let mut removed = Vec::with_capacity(max.min(self.backlog.len()));
        while removed.len() < max
            && let Some(slot) = self.backlog.first()
        {
            removed.push(self.withdraw(slot));
        }
        self.counters.purged += removed.len() as u64;
        removed
    }

    pub(crate) fn cancel(&mut self, now: Timestamp, ids: &[MessageId]) -> Vec<Cancelled> {
        self.begin(now);
        ids.iter().map(|id| self.cancel_one(*id)).collect()
    }

    fn cancel_one(&mut self, id: MessageId) -> Cancelled {
        planted!(CancelsTheLeased => self.take_back(id));
        if let Some(slot) = self.undelivered(id) {
            planted!(CancelKeepsTheKey => return self.cancel_but_for_its_key(slot));
            self.withdraw(slot);
            planted!(CancelForgetsTheCount => return Cancelled::Cancelled);
            self.counters.cancelled += 1;
            return Cancelled::Cancelled;
        }
        match (1..=self.last_id).contains(&id.get()) {
            true => Cancelled::TooLate,
            false => Cancelled::NeverWas,
        }
    }

    pub(crate) fn reschedule(
        &mut self,
        now: Timestamp,
        ids: &[MessageId],
        due: Due,
    ) -> Vec<Rescheduled> {
        let now = self.begin(now);
        let due = due.resolve(now);
        planted!(MoveIgnoresNow => due = if due == now { Timestamp::default() } else { due });
        planted!(MovesHalfABatch => return self.move_half(ids, due));
        let each = ids.iter();
        each.map(|id| self.reschedule_one(*id, due)).collect()
    }

    pub(super) fn reschedule_one(&mut self, id: MessageId, due: Timestamp) -> Rescheduled {
        planted!(MovesTheLeased => self.delay_the_leased(id));
        let is_delayed = |slot: &Slot| matches!(self.entries[*slot].place, EntryPlace::Due(_));
        let Some(slot) = self.undelivered(id).filter(is_delayed) else {
            return Rescheduled::TooLate;
        };
        planted!(MoveIgnoresNow => if due == Timestamp::default() { return Rescheduled::Moved });
        planted!(MovedForgetsItsAttempts => self.entries[slot].attempts = 0);
        planted!(MovedForgetsWhy => self.entries[slot].failed(None));
        let arrival = due;
        planted!(MovedKeepsItsArrival => arrival = self.entries[slot].arrival);
        if !K::BY_DUE {
            self.entries[slot].arrives(arrival);
        }
        self.backlog.postpone(&mut self.entries, slot, due);
        self.expect(due);
        Rescheduled::Moved
    }

    /// The message with this id, if it is ready or delayed.
    pub(super) fn undelivered(&self, id: MessageId) -> Option<Slot> {
        let slot = self.index.get(id)?;
        (!self.entries[slot].is_leased()).then_some(slot)
    }
}
