//! The rates of groups (Q3): a bucket of tokens for each group that has spent some.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use queue_core::{LeaseRate, Timestamp, limits};

use super::{bucket::Bucket, entry::Key};

/// The rate of all groups, and the buckets that are not full. A group's own rate is with its rule.
#[derive(Debug)]
pub(super) struct Rates {
    usual: Option<LeaseRate>,
    /// A group needs no messages to be here, and no bucket to have messages.
    buckets: BTreeMap<Key, Bucket>,
    /// The same groups, by the times at which their buckets are full.
    fills: BTreeSet<(Timestamp, Key)>,
}

impl Rates {
    pub(super) fn new(usual: Option<LeaseRate>) -> Self {
        Self {
            usual,
            buckets: BTreeMap::new(),
            fills: BTreeSet::new(),
        }
    }

    /// The rate of a group whose rule has this rate, or none.
    pub(super) fn of(&self, own: Option<LeaseRate>) -> Option<LeaseRate> {
        own.or(self.usual)
    }

    /// Changes the rate of all groups without a rate of their own. Returns the groups whose buckets change.
    pub(super) fn change_usual(
        &mut self,
        usual: Option<LeaseRate>,
        now: Timestamp,
        has_own: impl Fn(&Key) -> bool,
    ) -> Vec<Key> {
        self.usual = usual;
        let names = self.buckets.keys().filter(|name| !has_own(name));
        let names: Vec<Key> = names.cloned().collect();
        for name in &names {
            self.change(name, usual, now);
        }
        names
    }

    /// Gives a group this rate. Its bucket stays as full as it was.
    pub(super) fn change(&mut self, name: &Key, rate: Option<LeaseRate>, now: Timestamp) {
        planted!(AnotherRateFillsTheBucket => return self.put(name, None, now));
        if let Some(bucket) = self.buckets.get(name) {
            let changed = rate.map(|rate| bucket.with_rate(rate, now));
            self.put(name, changed, now);
        }
    }

    /// Takes a token of a group with this rate.
    pub(super) fn spend(&mut self, name: &Key, rate: LeaseRate, now: Timestamp) {
        let name = Arc::clone(name);
        planted!(TokenOfAnotherGroup => name = self.buckets.keys().next().cloned().unwrap_or(name));
        let bucket = self.buckets.get(&name).copied();
        let mut bucket = bucket.unwrap_or_else(|| Bucket::full(rate));
        bucket.spend(now, 1);
        self.put(&name, Some(bucket), now);
    }

    /// The time of a group's next token, if it has none now.
    pub(super) fn next_token(&self, name: &Key, now: Timestamp) -> Option<Timestamp> {
        self.buckets.get(name)?.next_token(now)
    }

    /// Removes full buckets, at most 128.
    pub(super) fn clear_full(&mut self, now: Timestamp) {
        for _ in 0..limits::MAX_BATCH {
            let first = self.fills.first().filter(|(full, _)| *full <= now);
            let Some((_, name)) = first else {
                break;
            };
            let name = Arc::clone(name);
            self.put(&name, None, now);
        }
    }

    /// The time at which the next bucket is full.
    pub(super) fn first_full(&self) -> Option<Timestamp> {
        self.fills.first().map(|(full, _)| *full)
    }

    /// The number of buckets that are not full.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.buckets.len(), self.fills.len());
        self.buckets.len()
    }

    /// Stores a bucket, unless it is full.
    fn put(&mut self, name: &Key, bucket: Option<Bucket>, now: Timestamp) {
        if let Some(old) = self.buckets.remove(name) {
            self.fills.remove(&(old.full_at(), Arc::clone(name)));
        }
        if let Some(bucket) = bucket.filter(|bucket| bucket.full_at() > now) {
            self.buckets.insert(Arc::clone(name), bucket);
            self.fills.insert((bucket.full_at(), Arc::clone(name)));
        }
    }
}

coded!(Rates {
    usual,
    buckets,
    fills
});
