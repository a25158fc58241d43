//! The turns of groups.

use std::collections::BTreeMap;

use bytes::Bytes;
use queue_core::LeaseRate;

use super::{bucket::Bucket, entry::ModelEntry};

/// Groups in the order in which they are shown: the shortest key first, then by its bytes.
pub(super) type Name = (usize, Bytes);

/// A turn: the bits of a number that is not negative, so that they have its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Turn(u64);

impl Turn {
    /// The turn after a delivery of a group of this weight.
    pub(super) fn after(self, weight: u32) -> Self {
        let next = f64::from_bits(self.0) + 1.0 / f64::from(weight);
        Self(next.to_bits())
    }
}

/// The rule and the pause of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Own {
    pub(super) rule: Option<Rule>,
    pub(super) paused_until: Option<u64>,
    /// Paused without an end, after the death of a message (G2).
    pub(super) is_parked: bool,
}

/// A rule, until its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Rule {
    pub(super) weight: u32,
    pub(super) at_once: Option<u32>,
    pub(super) rate: Option<LeaseRate>,
    pub(super) end: u64,
}

impl Own {
    /// The end that comes first.
    pub(super) fn end(&self) -> Option<u64> {
        let rule = self.rule.map(|rule| rule.end);
        rule.into_iter().chain(self.paused_until).min()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_parked || self.paused_until.is_some()
    }
}

/// The turns of the groups that have ready messages, held places or a rule; their rules; the virtual time; and the rate
/// of all groups, with the buckets that are not full (Q3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Turns {
    pub(super) turns: BTreeMap<Name, Turn>,
    pub(super) rules: BTreeMap<Name, Own>,
    pub(super) time: Turn,
    pub(super) rate: Option<LeaseRate>,
    pub(super) buckets: BTreeMap<Name, Bucket>,
}

impl Turns {
    pub(super) fn weight(&self, name: &Name) -> u32 {
        let rule = self.rules.get(name).and_then(|own| own.rule);
        rule.map_or(1, |rule| rule.weight)
    }

    /// The time at which a rule or a pause ends next.
    pub(super) fn next_end(&self) -> Option<u64> {
        self.rules.values().filter_map(Own::end).min()
    }
}

/// The name of a message's group; the same for all messages where there are no groups.
pub(super) fn name(entry: &ModelEntry) -> Name {
    (entry.key.len(), entry.key.clone())
}
