//! G1, G2: a group has no more messages under leases than it may have; in strict order, none overtakes an undecided one.

use std::collections::BTreeMap;

use queue_core::{GroupChange, GroupOrder, GroupedConfig, QueueConfig, call::Call};

use super::Found;
use crate::check::facts::{Facts, Lease, MessageLife};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let QueueConfig::Grouped(config) = facts.case.config else {
        return;
    };
    let mut groups: BTreeMap<&[u8], Vec<MessageLife<'_, '_>>> = BTreeMap::new();
    for life in facts.lives() {
        let group = facts.push_of(life.id()).and_then(|push| push.group);
        if let Some(group) = group {
            groups.entry(group).or_default().push(life);
        }
    }
    for (group, lives) in groups {
        let name = group.escape_ascii();
        let most = most_of(group, config, facts);
        for life in &lives {
            for lease in life.leases() {
                let others = lives.iter().filter(|other| other.id() != life.id());
                let held = 1 + others.filter(|other| other.is_leased(&lease.span)).count();
                if held > most as usize {
                    let message = format!(
                        "{held} messages of group {name} are under leases, and {most} may be"
                    );
                    found.push(Found::at("G1", &[&lease.span], message));
                }
            }
            if config.order == GroupOrder::Strict {
                overtaken(*life, &lives, found);
            }
        }
    }
}

/// The most messages of a group that may ever be under leases, whichever of its rules holds.
fn most_of(group: &[u8], config: &GroupedConfig, facts: &Facts<'_>) -> u32 {
    let rules = facts
        .calls()
        .filter_map(|(done, _)| match &done.record.call {
            Call::ChangeGroup(key, GroupChange::Rule(rule)) if key == group => rule.at_once,
            _ => None,
        });
    let usual = [config.per_group].into_iter();
    match config.order {
        GroupOrder::Strict => config.per_group,
        GroupOrder::Loose => usual.chain(rules).max().unwrap_or(config.per_group),
    }
}

/// Between two deliveries of a message, no other of its group is delivered.
fn overtaken(life: MessageLife<'_, '_>, group: &[MessageLife<'_, '_>], found: &mut Vec<Found>) {
    let leases: Vec<Lease<'_>> = life.leases().collect();
    for pair in leases.windows(2) {
        let (first, again) = (&pair[0].span, &pair[1].span);
        if life.may_be_revived(first, again) {
            continue;
        }
        for other in group.iter().filter(|other| other.id() != life.id()) {
            for lease in other.leases() {
                if first.before(&lease.span) && lease.span.before(again) {
                    let message = format!(
                        "message {} is delivered while message {} of its group is undecided",
                        other.id(),
                        life.id()
                    );
                    found.push(Found::at("G2", &[first, &lease.span, again], message));
                }
            }
        }
    }
}
