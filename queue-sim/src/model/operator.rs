//! The operators' verbs: depth and counters, dead letters, pausing and purging.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    Bytes, Counters, Cursor, DeadLetter, Depth, ErrorKind, MessageId, Page, Paged, QueueConfig,
    Revival, Revived, Timestamp,
};

use super::{
    LeasingModel, ModelResult,
    entry::{Exit, ModelEntry, ModelPlace},
    limits,
    order::ReadyOrder,
};

impl LeasingModel {
    /// The numbers of ready, delayed, leased and dead messages.
    pub fn depth(&mut self, now: Timestamp) -> Depth {
        let now = self.begin(now);
        self.depth_at(now)
    }

    /// The counters, with the depth. `dedup_marks` counts the live marks. A backend may return more, up to
    /// [`marks_ever`](Self::marks_ever).
    pub fn counters(&mut self, now: Timestamp) -> Counters {
        let now = self.begin(now);
        let left = |exit| self.count(|entry| entry.place == ModelPlace::Gone(exit));
        let mut counters = Counters::default();
        counters.accepted = self.entries.len() as u64;
        counters.acked = left(Exit::Acked);
        counters.retried = self.events.retried;
        counters.deferred = self.events.deferred;
        counters.released = self.events.released;
        counters.expired = self.events.expired;
        counters.died = self.events.died;
        counters.revived = self.events.revived;
        counters.evicted = left(Exit::Evicted);
        counters.replaced = left(Exit::Replaced);
        counters.cancelled = left(Exit::Cancelled);
        counters.discarded = left(Exit::Discarded);
        counters.trimmed = left(Exit::Trimmed);
        counters.purged = left(Exit::Purged);
        counters.outdated = left(Exit::Outdated);
        counters.dedup_marks = self.marks.iter().filter(|mark| now < mark.until).count() as u64;
        counters.groups = self.turns.turns.len() as u64;
        counters.depth = self.depth_at(now);
        counters.oldest_ready = self.oldest_ready(now);
        counters.next_token = self.next_token(now);
        counters.paused = self.paused;
        counters
    }

    /// The number of different dedup keys that have ever left a mark. A backend clears expired marks away when it
    /// likes, so it returns a number between the live marks and this number.
    pub fn marks_ever(&self) -> u64 {
        let mut keys: Vec<_> = self.marks.iter().map(|mark| &mark.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len() as u64
    }

    /// From now on uses other attempts, another cap of the dead letters, another ageing and another capacity.
    ///
    /// # Errors
    ///
    /// `Invalid` for another ageing while a message is ready, and for another order of groups while there is any.
    pub fn reconfigure(&mut self, now: Timestamp, config: &QueueConfig) -> ModelResult<()> {
        self.begin(now);
        if let QueueConfig::Priority(priority) = config {
            let order = ReadyOrder::of_priority(priority);
            let ready = |entry: &ModelEntry| {
                matches!(entry.place, ModelPlace::Ready | ModelPlace::Returned)
            };
            if order != self.order && self.entries.iter().any(ready) {
                return Err(ErrorKind::Invalid);
            }
            self.order = order;
        }
        if let QueueConfig::Grouped(grouped) = config {
            let order = ReadyOrder::of_groups(grouped);
            let kept = |entry: &ModelEntry| entry.is_undelivered() || entry.deadline().is_some();
            if !order.is_same_order(self.order) && self.entries.iter().any(kept) {
                return Err(ErrorKind::Invalid);
            }
            self.order = order;
            self.change_group_rate(now.as_millis(), grouped.group_rate);
        }
        if let Some(leasing) = config.leasing() {
            self.config.max_attempts = leasing.max_attempts;
            self.config.dead_letter_cap = leasing.dead_letter_cap;
            self.config.at_once = leasing.at_once;
            self.change_rate(now.as_millis(), leasing.rate);
        }
        while self.dead().len() as u64 > self.config.dead_letter_cap {
            let oldest = self.dead()[0];
            self.leave(oldest, Exit::Trimmed);
        }
        if let QueueConfig::Bounded(bounded) = config {
            let capacity = NonZeroUsize::new(bounded.capacity);
            self.resize_to(now, capacity.ok_or(ErrorKind::Invalid)?)?;
        }
        Ok(())
    }

    /// The dead letters, in the order of their deaths. The cursor is the model's own.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn dead_letters(&mut self, now: Timestamp, page: Page) -> ModelResult<Paged<DeadLetter>> {
        limits::page(page.limit)?;
        self.begin(now);
        let after = page.after.map_or(0, Cursor::get);
        let order = |at: &usize| self.entries[*at].death().map_or(0, |death| death.order);
        let rest: Vec<usize> = self
            .dead()
            .into_iter()
            .filter(|at| order(at) > after)
            .collect();
        let sizes: Vec<usize> = rest.iter().map(|at| self.entries[*at].size()).collect();
        let count = limits::carried(&sizes, page.limit);
        let more = count < rest.len();
        Ok(Paged::new(
            rest[..count]
                .iter()
                .filter_map(|at| letter(&self.entries[*at]))
                .collect(),
            rest[..count]
                .last()
                .filter(|_| more)
                .map(|at| Cursor::new(order(at))),
        ))
    }

    /// Puts dead letters back at the tail.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn revive(
        &mut self,
        now: Timestamp,
        ids: &[MessageId],
        revival: Revival,
    ) -> ModelResult<Vec<Revived>> {
        limits::batch(ids.len())?;
        let now = self.begin(now);
        let mut revived = Vec::new();
        for id in ids {
            revived.push(match self.dead_by(*id) {
                None => Revived::NotFound,
                Some(_) if !self.has_room() => Revived::Full,
                Some(at) => {
                    self.events.revived += 1;
                    self.entries[at].attempts = 0;
                    self.entries[at].failure = None;
                    self.entries[at].outdates = None;
                    if revival == Revival::Fresh {
                        self.entries[at].state = Bytes::new();
                    }
                    self.entries[at].arrival = now;
                    match self.order {
                        ReadyOrder::Due => {
                            self.entries[at].place = ModelPlace::Delayed { due: now }
                        }
                        _ => self.join(at, now),
                    }
                    Revived::Revived
                }
            });
        }
        Ok(revived)
    }

    /// Removes dead letters for good.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn discard(&mut self, now: Timestamp, ids: &[MessageId]) -> ModelResult<u64> {
        limits::batch(ids.len())?;
        self.begin(now);
        let mut discarded = 0;
        for id in ids {
            if let Some(at) = self.dead_by(*id) {
                self.leave(at, Exit::Discarded);
                discarded += 1;
            }
        }
        Ok(discarded)
    }

    /// Stops handing out messages.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Hands out messages again.
    pub fn resume(&mut self) {
        self.paused = false;
    }

    /// Removes up to `max` undelivered messages.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn purge(&mut self, now: Timestamp, max: NonZeroUsize) -> ModelResult<u64> {
        limits::page(max.get())?;
        let now = self.begin(now);
        let mut line = self.undelivered(now);
        line.truncate(max.get());
        for at in &line {
            self.leave(*at, Exit::Purged);
        }
        Ok(line.len() as u64)
    }

    /// The time after `now` at which the next change comes without a call: a deadline, a due time, or a token; or the
    /// end of a time to live, of a dedup window, of a result's time or of a group's rule. Tests use it to stop just
    /// before, at, and just after it.
    pub fn next_boundary(&self, now: Timestamp) -> Option<Timestamp> {
        let messages = self.entries.iter();
        let times = messages.filter_map(|entry| entry.deadline().or(entry.due()));
        let ends = self.entries.iter().filter_map(ModelEntry::end);
        let windows = self.marks.iter().map(|mark| mark.until);
        let results = self
            .entries
            .iter()
            .filter_map(|entry| entry.result.as_ref());
        let results = results.map(|(end, _)| *end);
        let token = self.next_token(now.as_millis());
        let token = token.map(|until| now.as_millis() + limits::millis(until));
        let times = times.chain(ends).chain(windows).chain(results).chain(token);
        let times = times.chain(self.turns.next_end());
        let times = times.chain(self.next_group_token(now.as_millis()));
        let later = times.filter(|time| *time > now.as_millis());
        later.min().map(Timestamp::from_millis)
    }

    /// The first due time of the delayed messages, after `now`.
    pub(crate) fn first_due(&self, now: Timestamp) -> Option<Timestamp> {
        let dues = self.entries.iter().filter_map(ModelEntry::due);
        let later = dues.filter(|due| *due > now.as_millis());
        later.min().map(Timestamp::from_millis)
    }

    /// Whether a lease would hand out a message.
    pub(crate) fn would_lease(&self, now: Timestamp) -> bool {
        let mut after = self.clone();
        after.begin(now);
        let millis = now.as_millis();
        !after.paused
            && !after.is_outdated(millis)
            && after.is_ready(now)
            && after.allowed(millis) > 0
    }

    /// Whether a message is ready.
    pub(super) fn is_ready(&self, now: Timestamp) -> bool {
        !self.deliverable(now.as_millis()).is_empty()
    }

    fn dead_by(&self, id: MessageId) -> Option<usize> {
        let mut entries = self.entries.iter();
        entries.position(|entry| entry.id == id && entry.death().is_some())
    }

    /// Whether a bounded queue has room; other queues always have room.
    pub(crate) fn has_room(&self) -> bool {
        self.capacity
            .is_none_or(|capacity| self.occupied() < capacity)
    }

    /// The number of messages that take up room: all but the dead ones.
    pub(super) fn occupied(&self) -> usize {
        self.count(|entry| !entry.is_gone() && entry.death().is_none()) as usize
    }

    /// Expired or due messages beyond a call's 128 count as ready here.
    fn depth_at(&self, now: u64) -> Depth {
        let later = |time: Option<u64>| time.is_some_and(|time| time > now);
        let delayed = self.count(|entry| later(entry.due()));
        let leased = self.count(|entry| later(entry.deadline()));
        let dead = self.count(|entry| entry.death().is_some());
        let held = self.count(|entry| !entry.is_gone());
        Depth::new(held - delayed - leased - dead, delayed, leased, dead)
    }

    /// The longest time that the head of a line has been ready.
    fn oldest_ready(&self, now: u64) -> Option<Duration> {
        let mut lines = Vec::new();
        let mut oldest = None;
        for at in self.ready(now) {
            let entry = &self.entries[at];
            let line = self.order.line(entry);
            if lines.contains(&line) {
                continue;
            }
            lines.push(line);
            let since = match self.order {
                ReadyOrder::Due => entry.due().unwrap_or(now),
                _ => entry.ready_since,
            };
            oldest = oldest.max(Some(Duration::from_millis(now.saturating_sub(since))));
        }
        oldest
    }

    fn count(&self, which: impl Fn(&ModelEntry) -> bool) -> u64 {
        self.entries.iter().filter(|entry| which(entry)).count() as u64
    }
}

fn letter(entry: &ModelEntry) -> Option<DeadLetter> {
    let death = entry.death()?;
    let mut letter = DeadLetter::new(
        entry.id,
        entry.body.clone(),
        death.reason.clone(),
        entry.attempts,
        Timestamp::from_millis(entry.pushed),
        Timestamp::from_millis(death.at),
    );
    letter.headers = entry.headers.clone();
    letter.failure = entry.failure.clone();
    letter.state = entry.state();
    letter.priority = entry.priority;
    letter.group = entry.group();
    Some(letter)
}
