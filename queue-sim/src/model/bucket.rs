//! The bucket of a group's rate (Q3).

use queue_core::LeaseRate;

use super::limits;

/// The used part of a group's bucket, at a time. Each delivery takes `per` from a bucket, and each ms gives `most` back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Bucket {
    pub(super) used: u64,
    pub(super) at: u64,
}

pub(super) fn most(rate: LeaseRate) -> u64 {
    u64::from(rate.most)
}

pub(super) fn per(rate: LeaseRate) -> u64 {
    limits::millis(rate.per)
}

impl Bucket {
    pub(super) fn used(self, rate: LeaseRate, now: u64) -> u64 {
        let back = now.saturating_sub(self.at).saturating_mul(most(rate));
        self.used.saturating_sub(back)
    }

    pub(super) fn is_full(self, rate: LeaseRate, now: u64) -> bool {
        self.at + self.used.div_ceil(most(rate)) <= now
    }
}
