use std::collections::BTreeMap;

use super::{Check, Finding};
use crate::{
    call::Config,
    sim::{Effect, Story},
};

/// What must hold of the effects on the [ledgers](crate::sim::Ledger).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects(Count);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    ExactlyOnce,
    AtMostOnce,
}

impl Effects {
    /// Nothing happens twice under one key, and there are as many effects on each ledger as
    /// messages were accepted: perhaps one more for each whose producer never learned of it, one
    /// less for each that was cancelled, evicted or died.
    ///
    /// Leases alone cannot give this (L1): it takes a sink that deduplicates by the key.
    pub const fn exactly_once() -> Self {
        Self(Count::ExactlyOnce)
    }

    /// Nothing happens twice under one key.
    pub const fn at_most_once() -> Self {
        Self(Count::AtMostOnce)
    }

    const fn name(self) -> &'static str {
        match self.0 {
            Count::ExactlyOnce => "effects exactly once",
            Count::AtMostOnce => "effects at most once",
        }
    }
}

impl Check for Effects {
    fn check(&self, story: &Story) -> Vec<Finding> {
        let mut by_key: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (index, Effect { ledger, key, .. }) in story.effects.iter().enumerate() {
            by_key.entry((ledger, key)).or_default().push(index);
        }
        let mut findings = Vec::new();
        for ((ledger, key), effects) in &by_key {
            if effects.len() > 1 {
                let message = format!("{ledger} {key} happened {} times", effects.len());
                findings.push(Finding {
                    effects: effects.clone(),
                    ..Finding::new(self.name(), message)
                });
            }
        }
        if self.0 == Count::ExactlyOnce && findings.is_empty() && story.drained.is_some() {
            findings.extend(miscounted(story, &by_key));
        }
        findings
    }
}

/// Fewer effects than there must be, or more than there can be.
fn miscounted(story: &Story, by_key: &BTreeMap<(&str, &str), Vec<usize>>) -> Option<Finding> {
    let (mut least, mut most) = (0_u64, 0_u64);
    let queues = story.queues.iter();
    for (name, _) in queues.filter(|(_, config)| !matches!(config, Config::Rotating(_))) {
        let fates = story.fates(name);
        let dead = story.dead.keys().filter(|(queue, _)| queue == name);
        let gone = fates.withdrawn.len() + dead.count();
        let accepted = fates.accepted.len() as u64;
        least += accepted.saturating_sub(gone as u64);
        most += accepted + fates.unknown;
    }
    let mut ledgers: BTreeMap<&str, u64> = BTreeMap::new();
    for (ledger, _) in by_key.keys() {
        *ledgers.entry(ledger).or_default() += 1;
    }
    let rule = Effects::exactly_once().name();
    let Some((ledger, effects)) = ledgers.into_iter().min_by_key(|(_, effects)| *effects) else {
        let message = format!("no effect at all, for {least} accepted messages");
        return (least > 0).then(|| Finding::new(rule, message));
    };
    if effects < least {
        let message = format!(
            "{effects} effects on {ledger}, for {least} messages that were accepted and neither \
             withdrawn nor given up"
        );
        return Some(Finding::new(rule, message));
    }
    let message = format!("{effects} effects on {ledger}, for {most} messages at most");
    (effects > most).then(|| Finding::new(rule, message))
}
