//! Bounded queues.

use std::sync::Arc;

use queue_core::{
    BoundedConfig, Message, MessageId, Offer, Offered, Overflow, QueueKind, Result, Timestamp,
    limits,
};

use super::{
    backlog::{Backlog, Lined},
    entry::{Key, Slot, StoredMessage},
    fifo::Fifo,
    kind::Kind,
    leasing::LeasingState,
    opening::Leases,
};

/// A fixed length.
#[derive(Debug)]
pub(crate) enum Bounded {}

impl Kind for Bounded {
    type Backlog = Lined<Fifo>;
    type Config = BoundedConfig;
}

impl Leases for Bounded {
    const KIND: QueueKind = QueueKind::Bounded;

    fn create(config: &BoundedConfig) -> LeasingState<Self> {
        LeasingState::with(config, &config.leasing, Lined::default(), config.capacity)
    }

    fn reconfigure(
        state: &mut LeasingState<Self>,
        now: Timestamp,
        config: &BoundedConfig,
    ) -> Result<()> {
        state.reconfigure_leasing(now, &config.leasing);
        state.config.leasing = config.leasing.clone();
        state.ensure_capacity(now, config.capacity);
        Ok(())
    }
}

impl LeasingState<Bounded> {
    pub(crate) fn offer(
        &mut self,
        now: Timestamp,
        messages: &[Offer],
        overflow: Overflow,
    ) -> Vec<Offered> {
        let now = self.begin(now);
        let each = messages.iter();
        each.map(|offer| self.offer_one(offer, overflow, now))
            .collect()
    }

    fn offer_one(&mut self, offer: &Offer, overflow: Overflow, now: Timestamp) -> Offered {
        let is_full = self.entries.len() >= self.capacity;
        planted!(CapacityOffByOne => is_full = self.entries.len() > self.capacity);
        let first = self.duplicate_of(&offer.push, now);
        planted!(FullBeforeDuplicate => first = first.filter(|_| !is_full));
        if let Some(first) = first {
            return Offered::Duplicate(first);
        }
        if let Some(slot) = self.keyed(offer)
            && !self.entries[slot].is_leased()
        {
            let replaced = self.withdraw(slot).id;
            self.counters.replaced += 1;
            let id = self.add(offer, now);
            return Offered::Replaced { id, replaced };
        }
        let mut evicted = None;
        if is_full {
            evicted = match overflow {
                Overflow::DropOldest => self.evict().map(|entry| entry.id),
                // A policy of a later version gets no room until this names it.
                _ => None,
            };
            if evicted.is_none() {
                planted!(RefusalLeavesAMark => self.mark(&offer.push, MessageId::new(1), now));
                return Offered::Full;
            }
        }
        let id = self.add(offer, now);
        Offered::Accepted { id, evicted }
    }

    /// The message that holds this offer's distinct key.
    fn keyed(&self, offer: &Offer) -> Option<Slot> {
        self.keys.get(&offer.distinct.as_ref()?[..]).copied()
    }

    fn add(&mut self, offer: &Offer, now: Timestamp) -> MessageId {
        let (id, slot) = self.accept(&offer.push, now);
        self.enter(slot, &offer.push, now);
        if let Some(key) = &offer.distinct {
            planted!(KeyedGoesFirst => self.put_first(slot, now));
            let key: Key = Arc::from(&key[..]);
            self.entries[slot].key = Some(Arc::clone(&key));
            // A leased message under the key becomes an ordinary one.
            if let Some(leased) = self.keys.insert(key, slot) {
                self.entries[leased].key = None;
            }
        }
        id
    }

    /// Drops the next message to deliver.
    fn evict(&mut self) -> Option<StoredMessage> {
        planted!(EvictsTheLeased => self.end_a_lease());
        let first = self.backlog.first();
        planted!(EvictsTheNewest | EvictsTheDelayed => first = self.misevicted().or(first));
        let slot = first?;
        self.counters.evicted += 1;
        Some(self.withdraw(slot))
    }

    /// Reads the newest ready messages, newest first.
    pub(crate) fn recent(&mut self, now: Timestamp, max: usize) -> Vec<Message> {
        self.begin(now);
        let newest = || {
            let slots = self.backlog.lines.backwards(&self.entries);
            slots.map(|slot| &self.entries[slot])
        };
        let count = limits::fitting(newest().map(StoredMessage::size), max);
        newest().take(count).map(StoredMessage::message).collect()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Checks the configuration of an open that sets the capacity.
    pub(crate) fn agrees_but_for_capacity(&self, asked: &BoundedConfig) -> Result<()> {
        asked.check_stored(&self.config, true)
    }

    /// [`resize`](Self::resize)s, if the capacity differs.
    pub(crate) fn ensure_capacity(
        &mut self,
        now: Timestamp,
        capacity: usize,
    ) -> Vec<StoredMessage> {
        if self.capacity == capacity {
            return Vec::new();
        }
        self.resize(now, capacity)
    }

    /// Returns the dropped messages, oldest first.
    pub(crate) fn resize(&mut self, now: Timestamp, capacity: usize) -> Vec<StoredMessage> {
        self.begin(now);
        self.capacity = capacity;
        self.config.capacity = capacity;
        self.resized = true;
        let mut dropped = Vec::new();
        while self.entries.len() > capacity
            && let Some(entry) = self.evict()
        {
            dropped.push(entry);
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use queue_core::Push;

    use super::*;
    use crate::state::churn::{DEAD_LETTERS, churn, delayed};

    #[test]
    fn a_bounded_queue_does_not_grow() {
        let state = Bounded::create(
            &BoundedConfig::new(64)
                .with_dead_letter_cap(DEAD_LETTERS)
                .with_max_attempts(3),
        );
        churn(state, |state, now, round, pushes| {
            let offer = |(n, push): (usize, Push)| match n % 3 {
                0 => Offer::new(push).with_distinct(format!("{}", (round + n) % 50)),
                _ => Offer::new(push),
            };
            let offers: Vec<_> = delayed(pushes).enumerate().map(offer).collect();
            state.offer(now, &offers, Overflow::DropOldest);
            assert!(state.entries.len() <= 64);
        });
    }
}
