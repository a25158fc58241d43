//! L5: the queue loses nothing and makes nothing up.

use bytes::Bytes;
use queue_core::{
    Cancelled, Counters, Disposition, Headers, MessageId, QueueConfig, QueueKind, Revived, Settled,
    call::{Answer, Call},
};

use super::Found;
use crate::{
    check::{
        facts::{Facts, Happened, MessageLife, PushFact, What},
        span::Span,
    },
    named::named,
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

/// The least and the most that a call adds to the queue's counters.
struct Balance {
    span: Span,
    what: Count,
    least: u64,
    most: u64,
}

named! {
    /// A counter that the answers of calls add up to.
    enum Count {
        Accepted = "accepted",
        Acked = "acked",
        Retried = "retried",
        Deferred = "deferred",
        Released = "released",
        Revived = "revived",
        Evicted = "evicted",
        Replaced = "replaced",
        Cancelled = "cancelled",
        Discarded = "discarded",
        Purged = "purged",
    }
}

impl Count {
    const fn of(self, counters: &Counters) -> u64 {
        match self {
            Self::Accepted => counters.accepted,
            Self::Acked => counters.acked,
            Self::Retried => counters.retried,
            Self::Deferred => counters.deferred,
            Self::Released => counters.released,
            Self::Revived => counters.revived,
            Self::Evicted => counters.evicted,
            Self::Replaced => counters.replaced,
            Self::Cancelled => counters.cancelled,
            Self::Discarded => counters.discarded,
            Self::Purged => counters.purged,
        }
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
        for tally in tallies.get_or_insert_with(|| tally(facts)).iter() {
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

fn tally(facts: &Facts<'_>) -> Vec<Balance> {
    let mut tallies = Vec::new();
    let mut add = |span: Span, what, least, most| {
        tallies.push(Balance {
            span,
            what,
            least,
            most,
        });
    };
    for push in &facts.pushes {
        match push.put {
            Some(PushFact::Accepted(_)) => add(push.span, Count::Accepted, 1, 1),
            Some(_) => {}
            None => add(push.span, Count::Accepted, 0, 1),
        }
    }
    for happened in facts.lives().flat_map(|life| life.iter()) {
        let span = happened.span;
        match happened.what {
            What::Settled(_, disposition, settled) => {
                let what = match disposition {
                    Disposition::Ack | Disposition::AckWith(_) => Count::Acked,
                    Disposition::Retry { .. } => Count::Retried,
                    Disposition::Defer { .. } => Count::Deferred,
                    Disposition::Release => Count::Released,
                    Disposition::Bury { .. } => continue,
                };
                match settled {
                    Some(Settled::Done) => add(span, what, 1, 1),
                    Some(_) => {}
                    None => add(span, what, 0, 1),
                }
            }
            What::Cancelled(None) => add(span, Count::Cancelled, 0, 1),
            What::Cancelled(Some(Cancelled::Cancelled)) => add(span, Count::Cancelled, 1, 1),
            What::Evicted | What::Dropped => add(span, Count::Evicted, 1, 1),
            What::Replaced => add(span, Count::Replaced, 1, 1),
            What::Revived(None) => add(span, Count::Revived, 0, 1),
            What::Revived(Some(Revived::Revived)) => add(span, Count::Revived, 1, 1),
            _ => {}
        }
    }
    for (done, span) in facts.calls() {
        // The answer of this call does not name the dropped messages.
        if matches!(
            done.record.call,
            Call::OpenOrResize(_) | Call::Reconfigure(QueueConfig::Bounded(_))
        ) {
            add(span, Count::Evicted, 0, u64::from(u32::MAX));
        }
        if facts.may_bring_too_late(done) {
            add(span.or_later(), Count::Released, 0, 1);
        }
        let mut unseen = done.executed.len().max(1) as u64;
        if let Some(Answer::Count(count)) = done.answer {
            match done.record.call {
                Call::Discard(_) => add(span, Count::Discarded, *count, *count),
                Call::Purge(_) => add(span, Count::Purged, *count, *count),
                _ => {}
            }
        }
        unseen -= u64::from(done.answer.is_some());
        if unseen == 0 {
            continue;
        }
        match &done.record.call {
            Call::Discard(ids) => add(span, Count::Discarded, 0, unseen * ids.len() as u64),
            Call::Purge(max) => add(span, Count::Purged, 0, unseen * max.get() as u64),
            Call::Resize(_) => add(span, Count::Evicted, 0, u64::from(u32::MAX)),
            Call::Push(messages) => {
                add(span, Count::Evicted, 0, unseen * messages.len() as u64);
                add(span, Count::Replaced, 0, unseen * messages.len() as u64);
            }
            _ => {}
        }
    }
    tallies
}
