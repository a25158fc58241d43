//! Buckets of tokens: for the rate of a queue (Q2), and for the rate of a group (Q3).

use queue_core::{LeaseRate, Timestamp, millis_ceil};

/// A token bucket in whole numbers: each delivery takes `per` from it, and each millisecond gives `most` back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    most: u64,
    per: u64,
    /// The spent part of the bucket at the time `at`: deliveries took it, and time has not given it back. At most
    /// `most * per`.
    used: u64,
    at: Timestamp,
}

impl Bucket {
    pub(super) fn full(rate: LeaseRate) -> Self {
        Self {
            most: u64::from(rate.most),
            per: millis_ceil(rate.per),
            used: 0,
            at: Timestamp::default(),
        }
    }

    /// The bucket with this rate from now on. If the rate stays the same, the bucket does, too. With another rate, the
    /// same share of the bucket is used. All backends count in these numbers.
    pub(super) fn with_rate(self, rate: LeaseRate, now: Timestamp) -> Self {
        let new = Self::full(rate);
        if (self.most, self.per) == (new.most, new.per) {
            return self;
        }
        let size = |bucket: &Self| (bucket.most * bucket.per) as f64;
        let used = self.used_at(now) as f64 / size(&self) * size(&new);
        Self {
            used: used.ceil() as u64,
            at: now,
            ..new
        }
    }

    /// Takes a token for each delivery.
    #[inline]
    pub(super) fn spend(&mut self, now: Timestamp, deliveries: usize) {
        self.used = self.used_at(now) + deliveries as u64 * self.per;
        self.at = now;
    }

    /// The number of tokens.
    pub(super) fn tokens(&self, now: Timestamp) -> usize {
        ((self.most * self.per - self.used_at(now)) / self.per) as usize
    }

    /// The time of the next token, if there is none now.
    pub(super) fn next_token(&self, now: Timestamp) -> Option<Timestamp> {
        let over = (self.used_at(now) + self.per).checked_sub(self.most * self.per)?;
        (over > 0).then(|| now.plus_millis(over.div_ceil(self.most)))
    }

    /// The time from which the bucket is full, if nothing takes a token before.
    pub(super) fn full_at(&self) -> Timestamp {
        self.at.plus_millis(self.used.div_ceil(self.most))
    }

    fn used_at(&self, now: Timestamp) -> u64 {
        let given_back = millis_ceil(now.since(self.at)).saturating_mul(self.most);
        planted!(TokensComeBackTwice => given_back = given_back.saturating_mul(2));
        self.used.saturating_sub(given_back)
    }
}

coded!(Bucket {
    most,
    per,
    used,
    at
});
