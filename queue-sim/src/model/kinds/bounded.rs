//! A fixed length.

use std::num::NonZeroUsize;

use queue_core::{Message, MessageId, Timestamp};

use crate::model::{LeasingModel, ModelResult, entry::Exit, limits};

impl LeasingModel {
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
}
