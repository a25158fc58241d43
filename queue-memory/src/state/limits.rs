//! The limits of the whole queue: of live leases (Q1), and of deliveries in a time (Q2).

use queue_core::{LeasingConfig, Timestamp};

use super::bucket::Bucket;

/// Both limits, and the state of the rate's bucket.
#[derive(Debug)]
pub(super) struct Limits {
    at_once: Option<u32>,
    bucket: Option<Bucket>,
}

impl Limits {
    pub(super) fn new(config: &LeasingConfig) -> Self {
        Self {
            at_once: config.at_once,
            bucket: config.rate.map(Bucket::full),
        }
    }

    /// Takes other limits. A rate that stays the same keeps its bucket. With another rate, the bucket is as full as
    /// before.
    pub(super) fn change(&mut self, now: Timestamp, config: &LeasingConfig) {
        self.bucket = match (self.bucket, config.rate) {
            (Some(bucket), Some(rate)) => Some(bucket.with_rate(rate, now)),
            (_, rate) => rate.map(Bucket::full),
        };
        self.at_once = config.at_once;
    }

    /// Whether the queue has any limit.
    #[inline]
    pub(super) const fn any(&self) -> bool {
        self.at_once.is_some() || self.bucket.is_some()
    }

    /// How many messages may be leased now, while so many are leased.
    #[inline]
    pub(super) fn allow(&self, now: Timestamp, leased: usize) -> usize {
        if !self.any() {
            return usize::MAX;
        }
        let at_once = self.at_once.map_or(usize::MAX, |most| most as usize);
        planted!(LimitIsCheckedBeforeTheBatch => return if leased < at_once { usize::MAX } else { 0 });
        let tokens = self.bucket.map_or(usize::MAX, |bucket| bucket.tokens(now));
        at_once.saturating_sub(leased).min(tokens)
    }

    /// Takes a token for each delivery.
    #[inline]
    pub(super) fn spend(&mut self, now: Timestamp, deliveries: usize) {
        if let Some(bucket) = self.bucket.as_mut().filter(|_| deliveries > 0) {
            bucket.spend(now, deliveries);
        }
    }

    /// The time of the next token, if there is none now.
    pub(super) fn next_token(&self, now: Timestamp) -> Option<Timestamp> {
        self.bucket?.next_token(now)
    }
}

coded!(Limits { at_once, bucket });
