//! B7: a push replaces the undelivered message with its key.

use std::collections::BTreeMap;

use bytes::Bytes;
use queue_core::QueueKind;

use super::{Found, cancelling::was_undelivered};
use crate::check::facts::{Facts, Happened, PushFact, Pushing, What};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        for happened in life.iter() {
            if !matches!(happened.what, What::Replaced) {
                continue;
            }
            let still =
                |later: &&Happened<'_>| later.what.shows_it() && happened.span.before(&later.span);
            if let Some(later) = life.iter().find(still) {
                let message = format!("message {} was replaced, and is still there", life.id());
                found.push(Found::at("B7", &[&happened.span, &later.span], message));
            }
            was_undelivered(life, &happened.span, "B7", "replaced", found);
            let by = facts.pushes.iter().find(|push| {
                push.span.call == happened.span.call && push.span.entry == happened.span.entry
            });
            let (Some(by), Some(old)) = (by, facts.push_of(life.id())) else {
                continue;
            };
            if by.key.is_none() || by.key != old.key {
                let message = format!(
                    "message {} with the key {:?} is replaced by one with {:?}",
                    life.id(),
                    old.key,
                    by.key
                );
                found.push(Found::at("B7", &[&old.span, &by.span], message));
                continue;
            }
            let took_the_key = |push: &&Pushing<'_>| {
                let accepted = matches!(push.put, Some(PushFact::Accepted(_)));
                let between = old.span.before(&push.span) && push.span.before(&by.span);
                accepted && between && share_a_key(facts, push, old)
            };
            if let Some(holder) = facts.pushes.iter().find(took_the_key) {
                let message = format!("message {} is replaced, and had lost its key", life.id());
                found.push(Found::at("B7", &[&holder.span, &by.span], message));
            }
        }
    }
    side_by_side(facts, found);
}

/// Whether both pushes have the same key of the same queue. In a partitioned queue, a key of grouped messages counts
/// within the partition of their group.
fn share_a_key(facts: &Facts<'_>, one: &Pushing<'_>, other: &Pushing<'_>) -> bool {
    let is_whole = facts.kind() != QueueKind::Grouped || facts.case.history.has_truth;
    one.key == other.key && (is_whole || one.group == other.group)
}

/// Two messages with one key are never undelivered at the same time.
fn side_by_side(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let mut keys: BTreeMap<&Bytes, Vec<&Pushing<'_>>> = BTreeMap::new();
    for push in &facts.pushes {
        if let (Some(key), Some(PushFact::Accepted(_))) = (push.key, push.put) {
            keys.entry(key).or_default().push(push);
        }
    }
    for pushes in keys.values() {
        for first in pushes {
            let Some(PushFact::Accepted(id)) = first.put else {
                continue;
            };
            // A revived message has lost its key.
            let mut life = facts.life(id).iter();
            if life.any(|happened| matches!(happened.what, What::Revived(_))) {
                continue;
            }
            // If its first delivery came after the second message, it was undelivered all along.
            let Some(taken) = facts.life(id).first_lease() else {
                continue;
            };
            for second in pushes {
                if first.span.before(&second.span)
                    && second.span.before(&taken.span)
                    && share_a_key(facts, first, second)
                {
                    let message = format!("message {id} is not replaced by one with its key");
                    let spans = [&first.span, &second.span, &taken.span];
                    found.push(Found::at("B7", &spans, message));
                }
            }
        }
    }
}
