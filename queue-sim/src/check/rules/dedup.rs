//! L9: the queue accepts a key once within its window. If the mark ends with its message, the queue accepts the key
//! once until that message is done.

use std::collections::BTreeMap;

use bytes::Bytes;
use queue_core::{Cancelled, Disposition, MessageId, Settled};

use super::Found;
use crate::check::{
    facts::{Facts, MessageLife, PushFact, Pushing, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let mut keys: BTreeMap<&Bytes, Vec<&Pushing<'_>>> = BTreeMap::new();
    for push in &facts.pushes {
        if let Some(dedup) = push.dedup {
            keys.entry(&dedup.key).or_default().push(push);
        } else if let Some(PushFact::Present(first)) = push.put {
            let message = format!("a push without a key is called a duplicate of {first}");
            found.push(Found::at("L9", &[&push.span], message));
        }
    }
    for (key, pushes) in &keys {
        for push in pushes {
            match push.put {
                Some(PushFact::Accepted(id)) => accepted(facts, key, push, id, pushes, found),
                Some(PushFact::Present(first)) => duplicate(facts, key, push, first, pushes, found),
                Some(PushFact::Full) | None => {}
            }
        }
    }
}

/// A queue that accepts a push had no live mark of its key.
fn accepted(
    facts: &Facts<'_>,
    key: &Bytes,
    push: &Pushing<'_>,
    id: MessageId,
    pushes: &[&Pushing<'_>],
    found: &mut Vec<Found>,
) {
    for first in pushes {
        let Some(PushFact::Accepted(holder)) = first.put else {
            continue;
        };
        let (until, _) = first.window_ends();
        let in_window = first.span.before(&push.span) && push.span.clock < until;
        if in_window && !(first.is_unique() && may_be_done(facts, facts.life(holder), &push.span)) {
            let message = format!(
                "message {id} is accepted with the key {key:?}, whose mark of {holder} lives until \
                 {until}"
            );
            found.push(Found::at("L9", &[&first.span, &push.span], message));
        }
    }
}

/// A duplicate had a first push, whose mark may not have ended.
fn duplicate(
    facts: &Facts<'_>,
    key: &Bytes,
    push: &Pushing<'_>,
    first: MessageId,
    pushes: &[&Pushing<'_>],
    found: &mut Vec<Found>,
) {
    let could_be = |other: &&&Pushing<'_>| {
        let accepted = match other.put {
            Some(PushFact::Accepted(id)) => id == first,
            Some(_) => false,
            None => true,
        };
        let (_, until) = other.window_ends();
        let in_window = other.span.may_precede(&push.span) && push.span.earliest < until;
        let ended = other.is_unique() && is_done(facts.life(first), &push.span);
        accepted && in_window && !ended
    };
    if !pushes.iter().any(|other| could_be(&other)) {
        let message = format!(
            "a push with the key {key:?} is called a duplicate of {first}, which has no live mark"
        );
        found.push(Found::at("L9", &[&push.span], message));
    }
}

/// Whether the message was surely acked, dead or gone then.
fn is_done(life: MessageLife<'_, '_>, then: &Span) -> bool {
    life.before(then).any(|happened| match happened.what {
        What::Settled(_, disposition, answer) => match answer {
            Some(Settled::Done) => disposition.is_ack(),
            answer => answer == Some(Settled::Dead),
        },
        What::Cancelled(answer) => answer == Some(Cancelled::Cancelled),
        What::Letter(_) | What::Evicted | What::Dropped | What::Replaced => true,
        _ => false,
    })
}

/// Whether the message may have been acked, dead or gone then. Its last lease may have expired, its time to live may
/// have been over, or a call may have removed it without an answer.
fn may_be_done(facts: &Facts<'_>, life: MessageLife<'_, '_>, then: &Span) -> bool {
    let mut earlier = life.perhaps_before(then);
    let ended = earlier.any(|happened| match happened.what {
        What::Settled(_, disposition, answer) => match disposition {
            Disposition::Ack | Disposition::AckWith(_) => answer != Some(Settled::LeaseLost),
            Disposition::Retry { .. } | Disposition::Bury { .. } => {
                matches!(answer, None | Some(Settled::Dead))
            }
            _ => false,
        },
        What::Cancelled(answer) => matches!(answer, None | Some(Cancelled::Cancelled)),
        What::Letter(_) | What::Evicted | What::Dropped | What::Replaced => true,
        _ => false,
    });
    let (least, _) = facts.max_attempts();
    let expired = life.leases().any(|lease| {
        let is_last = lease.delivery.attempt >= least;
        is_last && lease.span.may_precede(then) && life.deadline(&lease, then).0 <= then.clock
    });
    ended || expired || facts.may_be_outdated(life, then) || facts.may_take_unknown(then)
}
