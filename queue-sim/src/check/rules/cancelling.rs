//! L15: a cancel takes an undelivered message out for good, or says why not.

use queue_core::{Cancelled, Disposition, Settled};

use super::Found;
use crate::check::{
    facts::{Facts, Happened, MessageLife, PushFact, What},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        for happened in life.iter() {
            let span = &happened.span;
            match happened.what {
                What::Cancelled(Some(Cancelled::Cancelled)) => {
                    was_undelivered(life, span, "L15", "cancelled", found);
                    stays_cancelled(life, span, found);
                    may_have_been(facts, life, span, found);
                }
                What::Cancelled(Some(Cancelled::TooLate)) => {
                    was_taken(facts, life, span, "L15", "cancelled", found);
                    may_have_been(facts, life, span, found);
                }
                What::Cancelled(Some(Cancelled::NeverWas)) => was_not(life, span, found),
                _ => {}
            }
        }
    }
}

/// A message that a call cancels or moves was not leased, and not gone already.
pub(super) fn was_undelivered(
    life: MessageLife<'_, '_>,
    span: &Span,
    rule: &'static str,
    verb: &str,
    found: &mut Vec<Found>,
) {
    for lease in life.leases() {
        if lease.span.before(span) && life.is_live(&lease, span) {
            let message = format!(
                "message {} is {verb} at {} under a lease until {}",
                life.id(),
                span.latest,
                life.deadline(&lease, span).0
            );
            found.push(Found::at(rule, &[&lease.span, span], message));
        }
    }
    let gone = life.before(span).find(|happened| match happened.what {
        What::Cancelled(answer) => answer == Some(Cancelled::Cancelled),
        What::Settled(_, Disposition::Ack | Disposition::AckWith(_), settled) => {
            settled == Some(Settled::Done)
        }
        What::Evicted | What::Dropped | What::Replaced => true,
        _ => false,
    });
    if let Some(gone) = gone {
        let message = format!("message {} is {verb}, and was gone before", life.id());
        found.push(Found::at(rule, &[&gone.span, span], message));
    }
}

/// A cancel is not too late for a message that nobody took or removed, and whose time to live is not over.
pub(super) fn was_taken(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    span: &Span,
    rule: &'static str,
    verb: &str,
    found: &mut Vec<Found>,
) {
    let Some(push) = life.push().map(|at| &facts.pushes[at]) else {
        return;
    };
    let mut earlier = life.perhaps_before(span);
    let taken = earlier.any(|happened| match happened.what {
        What::Delivered(..) | What::Letter(_) | What::Evicted | What::Dropped | What::Replaced => {
            true
        }
        What::Cancelled(answer) => matches!(answer, None | Some(Cancelled::Cancelled)),
        _ => false,
    });
    let gone = facts.may_be_outdated(life, span) || facts.may_take_unknown(span);
    if push.span.before(span) && !taken && !gone {
        let message = format!(
            "message {} was never taken, and is too late to be {verb}",
            life.id()
        );
        found.push(Found::at(rule, &[&push.span, span], message));
    }
}

/// A cancel answers neither `cancelled` nor `too late` for a message that cannot have been there: ids count the
/// accepted messages. Only a backend that reports its executions gives such ids.
fn may_have_been(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    span: &Span,
    found: &mut Vec<Found>,
) {
    if !facts.case.history.has_truth {
        return;
    }
    let accepted = facts.pushes.iter().filter(|push| {
        matches!(push.put, None | Some(PushFact::Accepted(_))) && push.span.may_precede(span)
    });
    let (id, accepted) = (life.id().get(), accepted.count() as u64);
    if !(1..=accepted).contains(&id) {
        let message = format!("no message ever had the id {id}, and a cancel does not say so");
        found.push(Found::at("L15", &[span], message));
    }
}

/// A cancel does not answer that a message never existed if it did.
fn was_not(life: MessageLife<'_, '_>, span: &Span, found: &mut Vec<Found>) {
    let there = |happened: &&Happened<'_>| {
        matches!(happened.what, What::Accepted(_)) || happened.what.shows_it()
    };
    if let Some(there) = life.before(span).find(there) {
        let message = format!("message {} was there, and a cancel denies it", life.id());
        found.push(Found::at("L15", &[&there.span, span], message));
    }
}

fn stays_cancelled(life: MessageLife<'_, '_>, span: &Span, found: &mut Vec<Found>) {
    for happened in life.iter() {
        if happened.what.shows_it() && span.before(&happened.span) {
            let message = format!("message {} was cancelled, and is still there", life.id());
            found.push(Found::at("L15", &[span, &happened.span], message));
        }
    }
}
