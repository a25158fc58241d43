//! L5: the queue loses nothing and makes nothing up.

use bytes::Bytes;
use queue_core::{Cancelled, Disposition, Headers, MessageId, QueueKind, Settled, call::Answer};

use super::{
    Found,
    sums::{Count, sums},
};
use crate::check::{
    facts::{Facts, Happened, MessageLife, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        accepted_once(facts, life.iter(), found);
        for happened in life.iter() {
            let (body, headers) = match happened.what {
                What::Delivered(delivery, _) => (&delivery.body, &delivery.headers),
                What::Letter(letter) => (&letter.body, &letter.headers),
                What::Seen(message) => (&message.body, &message.headers),
                What::Peeked(peeked) => (&peeked.message.body, &peeked.message.headers),
                _ => continue,
            };
            let is_letter = matches!(happened.what, What::Letter(_));
            let there = (&happened.span, body, headers, is_letter);
            was_pushed(facts, life.id(), there, found);
        }
    }
    counted(facts, found);
    missing(facts, found);
}

/// The queue gives each id once.
fn accepted_once<'f, 'a: 'f>(
    facts: &Facts<'_>,
    life: impl Iterator<Item = &'f Happened<'a>>,
    found: &mut Vec<Found>,
) {
    let mut first: Option<(&Span, usize)> = None;
    for happened in life {
        let What::Accepted(push) = happened.what else {
            continue;
        };
        if let Some((span, other)) = first {
            let same = facts.pushes[push].body == facts.pushes[other].body;
            let rule = match facts.kind() {
                QueueKind::Delay if same => "D3",
                _ => "L5",
            };
            let message = format!("two messages are accepted as {}", happened.id);
            found.push(Found::at(rule, &[span, &happened.span], message));
        }
        first = Some((&happened.span, push));
    }
}

/// Each delivered or shown message was pushed, and not later than it was delivered or shown.
fn was_pushed(
    facts: &Facts<'_>,
    id: MessageId,
    (span, body, headers, is_letter): (&Span, &Bytes, &Headers, bool),
    found: &mut Vec<Found>,
) {
    if let Some(push) = facts.push_of(id) {
        if span.before(&push.span) {
            let message = format!("message {id} is there before it was pushed");
            found.push(Found::at("L5", &[span, &push.span], message));
        } else if push.body != body || push.headers != headers {
            let message = format!(
                "message {id} was pushed as {:?} with {:?}, and is {body:?} with {headers:?}",
                push.body, push.headers
            );
            found.push(Found::at("L5", &[&push.span, span], message));
        }
        return;
    }
    // The dead letters of a queue without truth may have lost their ids.
    let nameless = is_letter && !facts.case.history.has_truth;
    let pushed = facts.pushes.iter().any(|push| {
        (push.put.is_none() || nameless)
            && push.span.may_precede(span)
            && push.body == body
            && push.headers == headers
    });
    if !pushed {
        let message = format!("message {id} is there with the body {body:?}, and nobody pushed it");
        found.push(Found::at("L5", &[span], message));
    }
}

/// The counters balance, and equal the sums of the answers.
fn counted(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let reads = facts.calls().filter_map(|(done, span)| match done.answer {
        Some(Answer::Counters(counters)) => Some((span, &**counters)),
        _ => None,
    });
    let mut tallies = None;
    for (span, counters) in reads {
        if !counters.balance() {
            let message = format!("the books of {counters:?} do not balance");
            found.push(Found::at("L5", &[&span], message));
        }
        let mut least = [0_u64; Count::ALL.len()];
        let mut most = [0_u64; Count::ALL.len()];
        for tally in tallies.get_or_insert_with(|| sums(facts)).iter() {
            let at = tally.what as usize;
            if tally.span.before(&span) {
                least[at] += tally.least;
            }
            if tally.span.may_precede(&span) {
                most[at] = most[at].saturating_add(tally.most);
            }
        }
        for what in Count::ALL {
            let at = *what as usize;
            let (counted, least, most) = (what.of(counters), least[at], most[at]);
            if !(least..=most).contains(&counted) {
                let message = format!(
                    "{what}: the queue counts {counted}, its answers add up to {least} at the \
                     least and {most} at the most"
                );
                found.push(Found::at("L5", &[&span], message));
            }
        }
    }
}

/// All messages that were accepted and that no call can have ended are in the queue. Where the executions are known,
/// the model counts them.
fn missing(facts: &Facts<'_>, found: &mut Vec<Found>) {
    if facts.case.history.has_truth {
        return;
    }
    for (done, span) in facts.calls() {
        let Some(Answer::Counters(counters)) = done.answer else {
            continue;
        };
        let mut calls = facts.calls();
        if calls.any(|(done, other)| facts.removes_unknown(done) && other.may_precede(&span)) {
            continue;
        }
        let mut present = facts.lives().filter(|life| is_present(facts, *life, &span));
        let held = counters.depth.occupied() + counters.depth.dead + counters.trimmed;
        if let Some(one) = present.nth(held as usize) {
            let message = format!(
                "the queue holds {held} messages at the most, and at least {} were accepted and did not end, such \
                 as {}",
                held + 1 + present.count() as u64,
                one.id()
            );
            found.push(Found::at("L5", &[&one.0[0].span, &span], message));
        }
    }
}

/// Whether the message is surely in the queue then, in whatever place.
fn is_present(facts: &Facts<'_>, life: MessageLife<'_, '_>, then: &Span) -> bool {
    let mut before = life.before(then);
    let accepted = before.any(|happened| matches!(happened.what, What::Accepted(_)));
    let mut events = life.perhaps_before(then);
    let may_have_ended = events.any(|happened| match happened.what {
        What::Settled(_, Disposition::Ack | Disposition::AckWith(_), answer) => {
            answer != Some(Settled::LeaseLost)
        }
        What::Cancelled(answer) => answer.is_none_or(|answer| answer == Cancelled::Cancelled),
        What::Evicted | What::Dropped | What::Replaced | What::Discarded(_) => true,
        _ => false,
    });
    accepted && !may_have_ended && !facts.may_be_outdated(life, then)
}
