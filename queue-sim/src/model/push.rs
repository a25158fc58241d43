//! Accepting messages, at once or for later (D1), perhaps for a limited time (L17); refusing repeats (L9), replacing
//! messages with the same key (B7), and keeping a fixed length (B2, B3).

use bytes::Bytes;
use queue_core::{Dedup, Due, MessageId, Overflow, Push, Pushed, Timestamp};

use super::{
    LeasingModel, ModelResult,
    entry::{Exit, HeldKey, ModelEntry, ModelPlace},
    limits,
    mark::FirstPush,
    order::ReadyOrder,
};

impl LeasingModel {
    /// Puts messages in, one after another.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn push(&mut self, now: Timestamp, messages: &[Push]) -> ModelResult<Vec<Pushed>> {
        limits::pushes(messages, self.config.max_body)?;
        for push in messages {
            limits::require(push.priority.is_none() || self.order.has_priorities())?;
            limits::require(push.group.is_none() || self.order.has_groups())?;
            limits::require(push.overflow == Overflow::Reject || self.capacity.is_some())?;
            if self.order.has_groups() {
                limits::key(&group(push))?;
            }
        }
        let now = self.begin(now);
        let pushed = messages.iter().map(|push| self.push_one(now, push));
        Ok(pushed.collect())
    }

    fn push_one(&mut self, now: u64, push: &Push) -> Pushed {
        if let Some(first) = self.duplicate_of(now, push.dedup.as_ref()) {
            return Pushed::Duplicate(first);
        }
        let holder = push.distinct.as_ref().and_then(|own| self.holder(&own.key));
        if let Some(old) = holder.filter(|old| self.entries[*old].is_undelivered()) {
            let chain = self.entries[old].distinct.as_ref();
            let since = chain.and_then(|held| held.since);
            // Its group keeps its turn, because it is never empty.
            let id = self.accept(now, push, since);
            self.leave(old, Exit::Replaced);
            let replaced = self.entries[old].id;
            return Pushed::Replaced { id, replaced };
        }
        let evicted = match (self.has_room(), push.overflow) {
            (true, _) => None,
            (false, Overflow::DropOldest) => match self.undelivered(now).first() {
                Some(oldest) => Some(*oldest),
                None => return Pushed::Full,
            },
            (false, _) => return Pushed::Full,
        };
        if let Some(oldest) = evicted {
            self.leave(oldest, Exit::Evicted);
        }
        if let Some(leased) = holder {
            self.entries[leased].distinct = None;
        }
        let id = self.accept(now, push, None);
        match evicted.map(|at| self.entries[at].id) {
            Some(evicted) => Pushed::Evicted { id, evicted },
            None => Pushed::Accepted(id),
        }
    }

    fn duplicate_of(&self, now: u64, dedup: Option<&Dedup>) -> Option<MessageId> {
        let key = &dedup?.key;
        let mut marks = self.marks.iter();
        let first = marks.find(|mark| mark.key == *key && now < mark.until)?;
        Some(first.id)
    }

    /// The message that holds a distinct key, leased or not.
    fn holder(&self, key: &Bytes) -> Option<usize> {
        let holds = |entry: &ModelEntry| {
            let held = entry.distinct.as_ref();
            held.is_some_and(|held| held.key == *key)
        };
        self.entries.iter().position(holds)
    }

    /// Accepts a message and marks its key. The message is ready, at the tail, or delayed until its due time if that is
    /// still to come. A message with a longest wait replaces others `since` some time, or from now on.
    fn accept(&mut self, now: u64, push: &Push, since: Option<u64>) -> MessageId {
        let at = self.entries.len();
        let id = MessageId::new(at as u64 + 1);
        if let Some(dedup) = &push.dedup {
            self.marks.push(FirstPush {
                key: dedup.key.clone(),
                id,
                until: now + limits::millis(dedup.window),
                until_done: dedup.until_done,
            });
        }
        let mut due = push.due.map_or(now, |due| resolve(due, now));
        let distinct = push.distinct.as_ref().map(|own| HeldKey {
            key: own.key.clone(),
            since: own.longest.map(|longest| {
                let since = since.unwrap_or(now);
                due = due.min(since + limits::millis(longest)).max(now);
                since
            }),
        });
        self.entries.push(ModelEntry {
            id,
            body: push.body.clone(),
            headers: push.headers.clone(),
            priority: push.priority.unwrap_or(0),
            key: match self.order.has_groups() {
                true => group(push),
                false => Bytes::new(),
            },
            returns: false,
            pushed: now,
            failure: None,
            state: Bytes::new(),
            attempts: 0,
            arrival: due,
            ready_since: now,
            joined: 0,
            distinct,
            result: None,
            outdates: push
                .time_to_live
                .map(|time| (now + limits::millis(time.limit), time.then)),
            place: ModelPlace::Delayed { due },
        });
        if self.order != ReadyOrder::Due && due == now {
            self.join(at, now);
        }
        id
    }
}

/// The key of a message's group.
fn group(push: &Push) -> Bytes {
    let mut headers = push.headers.iter();
    let partition = headers.find(|(name, _)| *name == "partition-key");
    let other = partition.map_or("-", |(_, key)| key);
    let other = || Bytes::copy_from_slice(other.as_bytes());
    push.group.clone().unwrap_or_else(other)
}

/// The due time that a value means now; never earlier than now.
pub(super) fn resolve(due: Due, now: u64) -> u64 {
    match due {
        Due::After(delay) => now + limits::millis(delay),
        Due::At(time) => time.as_millis().max(now),
    }
}
