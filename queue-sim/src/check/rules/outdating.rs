//! L17: no lease hands out a message whose time to live is over. A message ends as its push said, and not before its
//! time.

use queue_core::{DeadLetter, DeathReason, Outdated, Revived, call::Answer};

use super::Found;
use crate::check::{
    facts::{Facts, Happened, MessageLife, PushFact, Pushing, What, millis},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        delivered(facts, life, found);
        for happened in life.iter() {
            if let What::Letter(letter) = happened.what
                && letter.reason == DeathReason::Outdated
            {
                buried(facts, life, letter, &happened.span, found);
            }
        }
    }
    counted(facts, found);
}

/// No delivery comes when the time to live is surely over. A revived message has no end any more.
fn delivered(facts: &Facts<'_>, life: MessageLife<'_, '_>, found: &mut Vec<Found>) {
    let Some(push) = life.push().map(|at| &facts.pushes[at]) else {
        return;
    };
    let Some((_, end)) = push.ends() else {
        return;
    };
    for lease in life.leases() {
        let over = push.span.before(&lease.span) && lease.span.earliest >= end;
        if over && !life.may_be_revived(&push.span, &lease.span) {
            let message = format!(
                "message {} is delivered at {}, outdated at {end}",
                life.id(),
                lease.span.earliest
            );
            found.push(Found::at("L17", &[&push.span, &lease.span], message));
        }
    }
}

/// A message that died as outdated was to be buried, had come to its end, and was not leased.
fn buried(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    letter: &DeadLetter,
    span: &Span,
    found: &mut Vec<Found>,
) {
    let push = facts.push_of(life.id());
    let asks = match push {
        Some(push) => is_to(push, Outdated::Bury),
        // The message is one of those whose answers nobody saw.
        None => facts
            .pushes
            .iter()
            .any(|push| push.put.is_none() && is_to(push, Outdated::Bury)),
    };
    let before = push.map_or(*span, |push| push.span);
    let mut fail = |before: &Span, why: &str| {
        let message = format!("message {} died as outdated, {why}", life.id());
        found.push(Found::at("L17", &[before, span], message));
    };
    if !asks {
        fail(&before, "and no push asked for that");
        return;
    }
    if push.is_some_and(|push| died_early(facts, push, letter)) {
        let died = letter.died_at.as_millis();
        fail(&before, &format!("at {died}, before its time was over"));
    }
    if life.is_leased(span) {
        fail(&before, "under a live lease");
    }
    let mut earlier = life.before(span);
    let revived =
        |event: &&Happened<'_>| matches!(event.what, What::Revived(Some(Revived::Revived)));
    if let Some(revived) = earlier.find(revived) {
        fail(&revived.span, "and was revived before: it has no end");
    }
}

/// Whether the message surely died before its end. Without the backend's own times, only the times in the dead letter
/// can be compared.
fn died_early(facts: &Facts<'_>, push: &Pushing<'_>, letter: &DeadLetter) -> bool {
    let end = match (facts.case.history.has_truth, push.ends()) {
        (true, Some((earliest, _))) => earliest,
        _ => {
            let limit = push.time_to_live.map_or(0, |time| millis(time.limit));
            letter.pushed_at.as_millis().saturating_add(limit)
        }
    };
    letter.died_at.as_millis() < end
}

/// No more messages are counted as outdated than can have been dropped by then.
fn counted(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for (done, span) in facts.calls() {
        let Some(Answer::Counters(counters)) = done.answer else {
            continue;
        };
        if counters.outdated == 0 {
            continue;
        }
        let may_be = facts.pushes.iter().filter(|push| {
            matches!(push.put, None | Some(PushFact::Accepted(_)))
                && is_to(push, Outdated::Drop)
                && push.span.may_precede(&span)
                && push.ends().is_some_and(|(end, _)| end <= span.clock)
        });
        let most = may_be.count() as u64;
        if counters.outdated > most {
            let message = format!(
                "{} messages are dropped as outdated, and {most} can be",
                counters.outdated
            );
            found.push(Found::at("L17", &[&span], message));
        }
    }
}

/// Whether its push asked for `then` at the end of its time to live.
fn is_to(push: &Pushing<'_>, then: Outdated) -> bool {
    push.time_to_live.is_some_and(|time| time.then == then)
}
