//! The ready messages, and their delivery order (L11, and 'Lines' of the fine print).

use super::LeasingModel;

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
        let mut delayed: Vec<(u64, usize)> = (0..self.entries.len())
            .filter(|at| !self.order.is_ready(&self.entries[*at], now))
            .filter_map(|at| Some((self.entries[at].due()?, at)))
            .collect();
        delayed.sort_unstable();
        delayed.into_iter().map(|(_, at)| at).collect()
    }

    /// The leased messages, by (deadline, id), also those whose leases are over and not reclaimed.
    pub(super) fn leased(&self) -> Vec<usize> {
        let mut leased: Vec<(u64, usize)> = (0..self.entries.len())
            .filter_map(|at| Some((self.entries[at].deadline()?, at)))
            .collect();
        leased.sort_unstable();
        leased.into_iter().map(|(_, at)| at).collect()
    }
}
