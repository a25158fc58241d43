//! Accepting messages, at once or for later (D1), perhaps for a limited time (L17), and refusing
//! repeats (L9).

use bytes::Bytes;
use queue_core::{Dedup, Due, Keyed, MessageId, Prioritized, Push, Pushed, Timestamp};

use super::{
    LeasingModel, ModelResult,
    entry::{ModelEntry, ModelPlace},
    limits,
    mark::FirstPush,
};

impl LeasingModel {
    /// Puts messages at the tail of a reliable queue.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn push(&mut self, now: Timestamp, messages: &[Push]) -> ModelResult<Vec<Pushed>> {
        self.put(now, messages, |push| push, |_, _| {})
    }

    /// Puts messages into a priority queue, each with its priority.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn enqueue(
        &mut self,
        now: Timestamp,
        messages: &[Prioritized],
    ) -> ModelResult<Vec<Pushed>> {
        let prioritize =
            |entry: &mut ModelEntry, message: &Prioritized| entry.priority = message.priority;
        self.put(now, messages, |message| &message.push, prioritize)
    }

    /// Puts messages into a grouped queue, each with the key of its group.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn push_keyed(&mut self, now: Timestamp, messages: &[Keyed]) -> ModelResult<Vec<Pushed>> {
        messages
            .iter()
            .try_for_each(|message| limits::key(&message.key))?;
        let group = |entry: &mut ModelEntry, message: &Keyed| entry.key = message.key.clone();
        self.put(now, messages, |message| &message.push, group)
    }

    /// Accepts messages that are no repeats, after `finish` has completed each.
    pub(super) fn put<M>(
        &mut self,
        now: Timestamp,
        messages: &[M],
        push: impl Fn(&M) -> &Push,
        finish: impl Fn(&mut ModelEntry, &M),
    ) -> ModelResult<Vec<Pushed>> {
        limits::pushes(messages.iter().map(&push), self.config.max_body)?;
        let now = self.begin(now);
        let mut pushed = Vec::new();
        for message in messages {
            let dedup = push(message).dedup.as_ref();
            pushed.push(match self.duplicate_of(now, dedup) {
                Some(first) => Pushed::Duplicate(first),
                None => {
                    let at = self.accept(now, push(message));
                    finish(&mut self.entries[at], message);
                    self.regroup(at);
                    Pushed::Accepted(self.entries[at].id)
                }
            });
        }
        Ok(pushed)
    }

    pub(super) fn duplicate_of(&self, now: u64, dedup: Option<&Dedup>) -> Option<MessageId> {
        let key = &dedup?.key;
        let mut marks = self.marks.iter();
        let first = marks.find(|mark| mark.key == *key && now < mark.until)?;
        Some(first.id)
    }

    /// Accepts a message and marks its key. The message is ready, at the tail, or delayed until its due time if that is
    /// still to come. Returns its index.
    pub(super) fn accept(&mut self, now: u64, push: &Push) -> usize {
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
        self.entries.push(ModelEntry {
            id,
            body: push.body.clone(),
            headers: push.headers.clone(),
            priority: 0,
            key: Bytes::new(),
            returns: false,
            pushed: now,
            failure: None,
            attempts: 0,
            arrival: now,
            ready_since: now,
            joined: 0,
            distinct: None,
            result: None,
            outdates: push
                .time_to_live
                .map(|time| (now + limits::millis(time.limit), time.then)),
            place: ModelPlace::Ready,
        });
        match push.due.map(|due| resolve(due, now)) {
            Some(due) if due > now => {
                self.entries[at].arrival = due;
                self.entries[at].place = ModelPlace::Delayed { due };
            }
            _ => self.join(at, now),
        }
        at
    }
}

/// The due time that a value means now; never earlier than now.
pub(super) fn resolve(due: Due, now: u64) -> u64 {
    match due {
        Due::After(delay) => now + limits::millis(delay),
        Due::At(time) => time.as_millis().max(now),
    }
}
