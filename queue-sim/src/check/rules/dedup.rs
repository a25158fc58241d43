//! L9: within its window, the queue accepts a key once.

use std::collections::BTreeMap;

use bytes::Bytes;
use queue_core::MessageId;

use super::Found;
use crate::check::facts::{Facts, Pushing, Put, millis};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let mut keys: BTreeMap<&Bytes, Vec<&Pushing<'_>>> = BTreeMap::new();
    for push in &facts.pushes {
        if let Some(dedup) = push.dedup {
            keys.entry(&dedup.key).or_default().push(push);
        } else if let Some(Put::Present(first)) = push.put {
            let message = format!("a push without a key is called a duplicate of {first}");
            found.push(Found::at("L9", &[&push.span], message));
        }
    }
    for (key, pushes) in &keys {
        for push in pushes {
            match push.put {
                Some(Put::Accepted(id)) => accepted(key, push, id, pushes, found),
                Some(Put::Present(first)) => duplicate(key, push, first, pushes, found),
                Some(Put::Full) | None => {}
            }
        }
    }
}

fn window(push: &Pushing<'_>) -> u64 {
    push.dedup.map_or(0, |dedup| millis(dedup.window))
}

/// A queue that accepts a push had no live mark of its key.
fn accepted(
    key: &Bytes,
    push: &Pushing<'_>,
    id: MessageId,
    pushes: &[&Pushing<'_>],
    found: &mut Vec<Found>,
) {
    for first in pushes {
        let Some(Put::Accepted(holder)) = first.put else {
            continue;
        };
        let until = first.span.earliest.saturating_add(window(first));
        if first.span.before(&push.span) && push.span.clock < until {
            let message = format!(
                "message {id} is accepted with the key {key:?}, whose mark of {holder} lives until \
                 {until}"
            );
            found.push(Found::at("L9", &[&first.span, &push.span], message));
        }
    }
}

/// A duplicate had a first push, whose window may not have been over.
fn duplicate(
    key: &Bytes,
    push: &Pushing<'_>,
    first: MessageId,
    pushes: &[&Pushing<'_>],
    found: &mut Vec<Found>,
) {
    let could_be = |other: &&&Pushing<'_>| {
        let accepted = match other.put {
            Some(Put::Accepted(id)) => id == first,
            Some(_) => false,
            None => true,
        };
        let until = other.span.latest.saturating_add(window(other));
        accepted && other.span.may_precede(&push.span) && push.span.earliest < until
    };
    if !pushes.iter().any(|other| could_be(&other)) {
        let message = format!(
            "a push with the key {key:?} is called a duplicate of {first}, which has no live mark"
        );
        found.push(Found::at("L9", &[&push.span], message));
    }
}
