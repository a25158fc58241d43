//! The rates of groups (Q3).

use queue_core::LeaseRate;

use super::{
    LeasingModel,
    bucket::{Bucket, most, per},
    turns::{Name, Turns},
};

impl Turns {
    /// A group's rate: that of its rule, or else that of all groups.
    pub(super) fn rate_of(&self, name: &Name) -> Option<LeaseRate> {
        let rule = self.rules.get(name).and_then(|own| own.rule);
        rule.and_then(|rule| rule.rate).or(self.rate)
    }

    /// The number of a group's tokens.
    pub(super) fn tokens(&self, name: &Name, now: u64) -> u64 {
        let Some(rate) = self.rate_of(name) else {
            return u64::MAX;
        };
        let used = self.buckets.get(name);
        let used = used.map_or(0, |bucket| bucket.used(rate, now));
        (most(rate) * per(rate) - used) / per(rate)
    }

    /// The time of a group's next token, if it has none now.
    pub(super) fn next_token(&self, name: &Name, now: u64) -> Option<u64> {
        let (rate, bucket) = self.rate_of(name).zip(self.buckets.get(name))?;
        let missing = (bucket.used + per(rate)).saturating_sub(most(rate) * per(rate));
        let time = bucket.at + missing.div_ceil(most(rate));
        (self.tokens(name, now) == 0).then_some(time)
    }

    /// Notes a delivery.
    pub(super) fn take_token(&mut self, name: &Name, now: u64) {
        let Some(rate) = self.rate_of(name) else {
            return;
        };
        let used = self.buckets.get(name);
        let used = used.map_or(0, |bucket| bucket.used(rate, now)) + per(rate);
        self.buckets.insert(name.clone(), Bucket { used, at: now });
    }

    /// Does something that may change rates. Of the groups with another rate then, the same share of the bucket is
    /// used as before.
    pub(super) fn changing_rates(&mut self, now: u64, change: impl FnOnce(&mut Self)) {
        let names = self.buckets.keys().cloned();
        let before: Vec<_> = names.map(|name| (self.rate_of(&name), name)).collect();
        change(self);
        for (old, name) in before {
            let new = self.rate_of(&name);
            let stored = |rate: LeaseRate| (most(rate), per(rate));
            if old.map(stored) == new.map(stored) {
                continue;
            }
            let bucket = self.buckets.remove(&name);
            if let (Some(old), Some(new), Some(bucket)) = (old, new, bucket) {
                let size = |rate| (most(rate) * per(rate)) as f64;
                let share = bucket.used(old, now) as f64 / size(old);
                let used = (share * size(new)).ceil() as u64;
                self.buckets.insert(name, Bucket { used, at: now });
            }
        }
    }

    /// Forgets full buckets.
    pub(super) fn forget_full(&mut self, now: u64) {
        let mut buckets = std::mem::take(&mut self.buckets);
        buckets.retain(|name, bucket| {
            let rate = self.rate_of(name);
            rate.is_some_and(|rate| !bucket.is_full(rate, now))
        });
        self.buckets = buckets;
    }
}

impl LeasingModel {
    /// From now on all groups without a rate of their own have this one.
    pub(super) fn change_group_rate(&mut self, now: u64, rate: Option<LeaseRate>) {
        self.turns.changing_rates(now, |turns| turns.rate = rate);
    }

    /// The time of the next token of a group that waits for one: nothing else keeps it from running.
    pub(super) fn next_group_token(&self, now: u64) -> Option<u64> {
        let names = self.turns.buckets.keys();
        let waiting = names.filter(|name| self.may_run_with_a_token(name, now));
        waiting
            .filter_map(|name| self.turns.next_token(name, now))
            .min()
    }
}
