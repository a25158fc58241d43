//! The messages of each place, in its order (L11, and 'Lines' of the fine print).

use super::{LeasingModel, entry::ModelEntry};

impl LeasingModel {
    /// The ready messages, in delivery order.
    pub(super) fn ready(&self, now: u64) -> Vec<usize> {
        let mut ready: Vec<usize> = (0..self.entries.len())
            .filter(|at| self.order.is_ready(&self.entries[*at], now))
            .collect();
        ready.sort_by_key(|at| self.order.rank(&self.entries[*at]));
        ready
    }

    /// The undelivered messages in delivery order, delayed ones last by (due, id).
    pub(super) fn undelivered(&self, now: u64) -> Vec<usize> {
        let mut line = self.ready(now);
        line.extend(self.delayed(now));
        line
    }

    /// The delayed messages, by (due, id).
    pub(super) fn delayed(&self, now: u64) -> Vec<usize> {
        self.by(|entry| entry.due().filter(|_| !self.order.is_ready(entry, now)))
    }

    /// The leased messages, by (deadline, id), including messages whose leases are over and not reclaimed.
    pub(super) fn leased(&self) -> Vec<usize> {
        self.by(ModelEntry::deadline)
    }

    /// The dead letters, in the order of their deaths.
    pub(super) fn dead(&self) -> Vec<usize> {
        self.by(|entry| Some(entry.death()?.order))
    }

    /// The messages for which `number` returns a number, by (number, id).
    pub(super) fn by(&self, number: impl Fn(&ModelEntry) -> Option<u64>) -> Vec<usize> {
        let entries = self.entries.iter().enumerate();
        let mut numbered: Vec<(u64, usize)> = entries
            .filter_map(|(at, entry)| Some((number(entry)?, at)))
            .collect();
        numbered.sort_unstable();
        numbered.into_iter().map(|(_, at)| at).collect()
    }
}
