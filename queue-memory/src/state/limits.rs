//! The limits of the whole queue: of live leases (Q1), and of deliveries in a time (Q2).

use queue_core::{LeaseRate, LeasingConfig, Timestamp, millis_ceil};

/// Both limits, and the state of the rate's bucket.
#[derive(Debug)]
pub(super) struct Limits {
    at_once: Option<u32>,
    bucket: Option<Bucket>,
}

/// A token bucket in whole numbers: each delivery takes `per` from it, and each millisecond gives `most` back.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    most: u64,
    per: u64,
    /// The spent part of the bucket at the time `at`: deliveries took it, and time has not given it back. At most
    /// `most * per`.
    used: u64,
    at: Timestamp,
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
        let bucket = config.rate.map(Bucket::full);
        self.bucket = match (self.bucket, bucket) {
            (Some(old), Some(new)) if (old.most, old.per) == (new.most, new.per) => Some(old),
            (Some(old), Some(new)) => Some(new.as_full_as(old, now)),
            (_, new) => new,
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
        if let Some(bucket) = &mut self.bucket {
            let deliveries = deliveries as u64;
            bucket.used = bucket.used_at(now) + deliveries * bucket.per;
            bucket.at = now;
        }
    }

    /// The time of the next token, if there is none now.
    pub(super) fn next_token(&self, now: Timestamp) -> Option<Timestamp> {
        let bucket = self.bucket?;
        let over = (bucket.used_at(now) + bucket.per).checked_sub(bucket.most * bucket.per)?;
        (over > 0).then(|| now.plus_millis(over.div_ceil(bucket.most)))
    }
}

impl Bucket {
    fn full(rate: LeaseRate) -> Self {
        Self {
            most: u64::from(rate.most),
            per: millis_ceil(rate.per),
            used: 0,
            at: Timestamp::default(),
        }
    }

    /// The same rate, with this share of the bucket used. All backends count in these numbers.
    fn as_full_as(self, other: Self, now: Timestamp) -> Self {
        let size = |bucket: &Self| (bucket.most * bucket.per) as f64;
        let used = other.used_at(now) as f64 / size(&other) * size(&self);
        Self {
            used: used.ceil() as u64,
            at: now,
            ..self
        }
    }

    fn used_at(&self, now: Timestamp) -> u64 {
        let given_back = millis_ceil(now.since(self.at)).saturating_mul(self.most);
        planted!(TokensComeBackTwice => given_back = given_back.saturating_mul(2));
        self.used.saturating_sub(given_back)
    }

    fn tokens(&self, now: Timestamp) -> usize {
        ((self.most * self.per - self.used_at(now)) / self.per) as usize
    }
}
