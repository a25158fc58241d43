//! A fixed length.

use std::num::NonZeroUsize;

use bytes::Bytes;
use queue_core::{Message, MessageId, Offer, Offered, Overflow, Timestamp};

use crate::model::{LeasingModel, ModelResult, entry::Exit, limits};

impl LeasingModel {
    /// Puts messages at the tail of a bounded queue while there is room.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn offer(
        &mut self,
        now: Timestamp,
        messages: &[Offer],
        overflow: Overflow,
    ) -> ModelResult<Vec<Offered>> {
        let pushes = messages.iter().map(|message| &message.push);
        limits::pushes(pushes, self.config.max_body)?;
        let mut keys = messages
            .iter()
            .filter_map(|message| message.distinct.as_ref());
        keys.try_for_each(|key| limits::key(key))?;
        let now = self.begin(now);
        let answers = messages
            .iter()
            .map(|message| self.offer_one(now, message, overflow));
        Ok(answers.collect())
    }

    /// The newest ready messages, newest first.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn recent(&mut self, now: Timestamp, n: usize) -> ModelResult<Vec<Message>> {
        limits::page(n)?;
        let now = self.begin(now);
        let mut line = self.ready(now);
        line.reverse();
        let sizes: Vec<usize> = line.iter().map(|at| self.entries[*at].size()).collect();
        line.truncate(limits::carried(&sizes, n));
        let messages = line.iter().map(|at| self.entries[*at].message());
        Ok(messages.collect())
    }

    /// Changes the capacity, and drops the messages beyond it.
    ///
    /// # Errors
    ///
    /// `Invalid`.
    pub fn resize(
        &mut self,
        now: Timestamp,
        capacity: NonZeroUsize,
    ) -> ModelResult<Vec<MessageId>> {
        limits::require(capacity.get() <= u32::MAX as usize)?;
        let now = self.begin(now);
        self.capacity = Some(capacity.get());
        let mut dropped = Vec::new();
        for at in self.undelivered(now) {
            if self.occupied() <= capacity.get() {
                break;
            }
            self.leave(at, Exit::Evicted);
            dropped.push(self.entries[at].id);
        }
        Ok(dropped)
    }

    /// Changes the capacity, if the new one differs.
    pub(in crate::model) fn resize_to(
        &mut self,
        now: Timestamp,
        capacity: NonZeroUsize,
    ) -> ModelResult<()> {
        if self.capacity != Some(capacity.get()) {
            self.resize(now, capacity)?;
        }
        Ok(())
    }

    fn offer_one(&mut self, now: u64, offer: &Offer, overflow: Overflow) -> Offered {
        if let Some(first) = self.duplicate_of(now, offer.push.dedup.as_ref()) {
            return Offered::Duplicate(first);
        }
        let line = self.undelivered(now);
        let holder = offer.distinct.as_ref().and_then(|key| self.holder(key));
        if let Some(old) = holder.filter(|old| line.contains(old)) {
            self.leave(old, Exit::Replaced);
            return Offered::Replaced {
                id: self.admit(now, offer),
                replaced: self.entries[old].id,
            };
        }
        let evicted = match (self.has_room(), overflow) {
            (true, _) => None,
            (false, Overflow::DropOldest) if !line.is_empty() => Some(line[0]),
            (false, _) => return Offered::Full,
        };
        if let Some(oldest) = evicted {
            self.leave(oldest, Exit::Evicted);
        }
        if let Some(leased) = holder {
            self.entries[leased].distinct = None;
        }
        Offered::Accepted {
            id: self.admit(now, offer),
            evicted: evicted.map(|at| self.entries[at].id),
        }
    }

    fn admit(&mut self, now: u64, offer: &Offer) -> MessageId {
        let at = self.accept(now, &offer.push);
        self.entries[at].distinct = offer.distinct.clone();
        self.entries[at].id
    }

    fn holder(&self, key: &Bytes) -> Option<usize> {
        let mut entries = self.entries.iter();
        entries.position(|entry| entry.distinct.as_ref() == Some(key))
    }
}
