//! B1, B2, B3, B5, B6: the fixed length, and the ways to make room.

use queue_core::{
    Cancelled, Disposition, Overflow, Pushed, QueueConfig, Settled,
    call::{Answer, Call},
    limits::MAX_BATCH,
};

use super::{Found, changes::Changes};
use crate::{
    check::{
        facts::{Facts, Happened, MessageLife, PushFact, What},
        span::Span,
    },
    history::{CallId, Event},
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let QueueConfig::Bounded(config) = facts.case.config else {
        return;
    };
    let sizes = sizes(facts, config.capacity as u64);
    lengths(facts, &sizes, found);
    answers(facts, &sizes, found);
    for life in facts.lives() {
        for happened in life.iter() {
            let rule = match happened.what {
                What::Evicted => "B2",
                What::Dropped => "B5",
                _ => continue,
            };
            evicted(life, happened, rule, found);
            evicted_in_order(facts, life, happened, rule, found);
        }
    }
}

/// The capacities of the queue, each with the most messages that the queue may hold: messages that were leased at the
/// change keep their places, and so do those that no step has dropped yet.
type Sizes = Changes<(u64, u64)>;

fn sizes(facts: &Facts<'_>, first: u64) -> Sizes {
    let resizes = facts.calls().filter_map(|(done, span)| {
        let capacity = match &done.record.call {
            Call::Resize(capacity) | Call::OpenOrResize(capacity) => capacity.get(),
            Call::Reconfigure(QueueConfig::Bounded(config)) => config.capacity,
            _ => return None,
        };
        let drops = matches!(done.record.call, Call::Resize(_));
        // Without an answer, it may have taken the first step alone (B5).
        let left = match done.answer {
            None => most_held(facts, &span).saturating_sub(MAX_BATCH as u64),
            Some(_) => 0,
        };
        Some((span, capacity as u64, drops, left))
    });
    let mut resizes: Vec<_> = resizes.collect();
    resizes.sort_by_key(|(span, ..)| span.first);
    let mut sizes = Changes {
        first: (first, first),
        changes: Vec::with_capacity(resizes.len()),
    };
    for (span, capacity, drops, left) in resizes {
        let most = most_leased(facts, &span).max(capacity).max(left);
        // With the capacity that is stored, only a resize drops anything.
        let same = sizes
            .at(&span)
            .filter(|(same, _)| !drops && *same == capacity);
        let most = same.fold(most, |most, (_, before)| most.max(before));
        sizes.changes.push((span, (capacity, most)));
    }
    sizes
}

/// The most messages that may be leased then.
fn most_leased(facts: &Facts<'_>, then: &Span) -> u64 {
    if facts.ghosts_before(then) > 0 {
        return u64::MAX;
    }
    let lives = facts.lives().filter(|life| {
        life.leases().any(|lease| {
            let settled = life.settled(lease.delivery.receipt.token, then);
            lease.span.may_precede(then) && settled.is_none()
        })
    });
    lives.count() as u64
}

/// B1, after every execution and in the queue's own counters.
fn lengths(facts: &Facts<'_>, sizes: &Sizes, found: &mut Vec<Found>) {
    let mut too_long = |span: &Span, length: u64| {
        let most = sizes.at(span).map(|(_, most)| most).max();
        if most.is_some_and(|most| length > most) {
            let message = format!("{length} messages, at most {most:?} fit");
            let mut broken = Found::at("B1", &[span], message);
            broken.finding.calls.retain(|call| *call != CallId(0));
            found.push(broken);
        }
    };
    for (done, span) in facts.calls() {
        match done.answer {
            Some(Answer::Depth(depth)) => too_long(&span, depth.occupied()),
            Some(Answer::Counters(counters)) => too_long(&span, counters.depth.occupied()),
            _ => {}
        }
    }
    if facts.case.history.has_roll_back() {
        return;
    }
    for (moment, event) in &facts.case.history.events {
        if let Event::Length(_, length) = event {
            let span = Span {
                first: moment.order,
                last: moment.order,
                ..Span::NEVER
            };
            too_long(&span, *length);
        }
    }
}

fn answers(facts: &Facts<'_>, sizes: &Sizes, found: &mut Vec<Found>) {
    for (done, span) in facts.calls() {
        match (&done.record.call, done.answer) {
            (Call::Push(messages), Some(Answer::Pushed(pushed))) => {
                for (at, (push, pushed)) in messages.iter().zip(pushed).enumerate() {
                    let span = Span {
                        entry: at as u32,
                        ..span
                    };
                    without_room(facts, sizes, &span, push.overflow, *pushed, found);
                }
            }
            (_, Some(Answer::Capacity(capacity))) => {
                let capacity = capacity.get() as u64;
                if !sizes.at(&span).any(|(size, _)| size == capacity) {
                    let message = format!("a capacity of {capacity}, which nobody set");
                    found.push(Found::at("B5", &[&span], message));
                }
            }
            (Call::Recent(n), Some(Answer::Messages(messages))) => {
                if messages.len() > *n {
                    let message = format!("{} messages, {n} were asked for", messages.len());
                    found.push(Found::at("B6", &[&span], message));
                }
                recent(facts, &span, messages, found);
            }
            _ => {}
        }
    }
}

/// A queue that refuses or evicts has no room.
fn without_room(
    facts: &Facts<'_>,
    sizes: &Sizes,
    span: &Span,
    overflow: Overflow,
    pushed: Pushed,
    found: &mut Vec<Found>,
) {
    let (rule, what) = match pushed {
        Pushed::Full => ("B3", "is refused"),
        Pushed::Evicted { .. } if overflow == Overflow::Reject => {
            let message = "a push that rejects evicts a message".to_owned();
            found.push(Found::at("B3", &[span], message));
            return;
        }
        Pushed::Evicted { .. } => ("B2", "evicts another"),
        _ => return,
    };
    let least = sizes.at(span).map(|(capacity, _)| capacity).min();
    let held = most_held(facts, span);
    if least.is_some_and(|least| held < least) {
        let message = format!("a message {what} where {held} are held, and {least:?} fit");
        found.push(Found::at(rule, &[span], message));
    }
}

/// The most messages that the queue may hold then.
fn most_held(facts: &Facts<'_>, then: &Span) -> u64 {
    let pushes = facts.pushes.iter();
    let unseen = pushes.filter(|push| push.put.is_none() && push.span.may_precede(then));
    let lives = facts.lives().filter(|life| {
        let there = life
            .perhaps_before(then)
            .any(|happened| matches!(happened.what, What::Accepted(_) | What::Revived(_)));
        let left = life.before(then).any(|happened| {
            let leaves = match happened.what {
                What::Settled(_, disposition, Some(settled)) => {
                    settled == Settled::Dead || settled == Settled::Done && disposition.is_ack()
                }
                What::Evicted | What::Dropped | What::Replaced => true,
                What::Cancelled(answer) => answer == Some(Cancelled::Cancelled),
                _ => false,
            };
            leaves && !life.may_be_revived(&happened.span, then)
        });
        there && !left
    });
    lives.count() as u64 + unseen.count() as u64
}

/// An evicted or dropped message was not leased, and is gone.
fn evicted(
    life: MessageLife<'_, '_>,
    happened: &Happened<'_>,
    rule: &'static str,
    found: &mut Vec<Found>,
) {
    if life.is_leased(&happened.span) {
        let message = format!("message {} makes room under a live lease", life.id());
        found.push(Found::at(rule, &[&happened.span], message));
    }
    for later in life.iter() {
        if later.what.shows_it() && happened.span.before(&later.span) {
            let message = format!("message {} made room, and is still there", life.id());
            found.push(Found::at(rule, &[&happened.span, &later.span], message));
        }
    }
}

/// Eviction takes the next message: no message that was ready all the time comes before it.
fn evicted_in_order(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    happened: &Happened<'_>,
    rule: &'static str,
    found: &mut Vec<Found>,
) {
    let (Some(push), None) = (life.push(), life.leases().next()) else {
        return;
    };
    let push = &facts.pushes[push];
    if facts.ghosts_before(&happened.span) > 0 {
        return;
    }
    for other in facts.lives() {
        let Some(ahead) = other.push().map(|at| &facts.pushes[at]) else {
            continue;
        };
        let Some(first) = other.first_lease() else {
            continue;
        };
        if ahead.span.before(&push.span)
            && facts.is_delayed(ahead) == Some(false)
            && happened.span.before(&first.span)
        {
            let message = format!(
                "message {} makes room, and message {} is ahead of it",
                life.id(),
                other.id()
            );
            let spans = [&ahead.span, &happened.span, &first.span];
            found.push(Found::at(rule, &spans, message));
        }
    }
}

/// B6: the newest message first, each once, and no message that is leased or gone.
fn recent(
    facts: &Facts<'_>,
    span: &Span,
    messages: &[queue_core::Message],
    found: &mut Vec<Found>,
) {
    for (at, message) in messages.iter().enumerate() {
        let life = facts.life(message.id);
        let twice = messages[..at].iter().any(|other| other.id == message.id);
        if twice || life.is_leased(span) || is_gone(life, span) {
            let message = format!("message {} is not ready, or shown twice", message.id);
            found.push(Found::at("B6", &[span], message));
        }
    }
    if facts.ghosts_before(span) > 0 {
        return;
    }
    let fresh = |id| {
        // A revived message takes its place at the revival.
        let moved = facts
            .life(id)
            .perhaps_before(span)
            .any(|happened| matches!(happened.what, What::Delivered(..) | What::Revived(_)));
        let push = facts.push_of(id).filter(|_| !moved);
        push.filter(|push| facts.is_delayed(push) == Some(false))
    };
    for pair in messages.windows(2) {
        if let (Some(newer), Some(older)) = (fresh(pair[0].id), fresh(pair[1].id))
            && newer.span.before(&older.span)
            && newer.put != Some(PushFact::Full)
        {
            let message = format!(
                "message {} is shown before message {}, which is newer",
                pair[0].id, pair[1].id
            );
            found.push(Found::at("B6", &[span], message));
        }
    }
}

fn is_gone(life: MessageLife<'_, '_>, then: &Span) -> bool {
    life.before(then).any(|happened| {
        matches!(
            happened.what,
            What::Settled(
                _,
                Disposition::Ack | Disposition::AckWith(_),
                Some(Settled::Done)
            ) | What::Replaced
        )
    })
}
