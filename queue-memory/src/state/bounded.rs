//! Bounded queues.

use queue_core::{BoundedConfig, Message, QueueKind, Result, Timestamp, limits};

use super::{
    backlog::Lined, entry::StoredMessage, fifo::Fifo, kind::Kind, leasing::LeasingState,
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
    use queue_core::{Overflow, Push};

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
            let set = |(n, push): (usize, Push)| {
                let push = push.with_overflow(Overflow::DropOldest);
                match n % 3 {
                    0 => push.with_distinct(format!("{}", (round + n) % 50)),
                    _ => push,
                }
            };
            let pushes: Vec<_> = delayed(pushes).enumerate().map(set).collect();
            let _ids = state.push(now, &pushes);
            assert!(state.entries.len() <= 64);
        });
    }
}
