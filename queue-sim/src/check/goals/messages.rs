//! Goals that the lives of messages show.

use std::collections::BTreeSet;

use queue_core::{
    Cancelled, DeathReason, Disposition, Due, Extended, Found, QueueKind, Rescheduled, Revived,
    Settled, Standing,
    call::{Answer, Call},
};

use crate::{
    check::{
        facts::{Facts, Happened, Lease, MessageLife, PushFact, What, due},
        span::Span,
    },
    history::Event,
};

/// The goals that the ends of messages show.
pub(super) fn reached(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    crashes(facts, goals);
    let leasing = facts.kind() != QueueKind::Rotating;
    let mut puts = facts.pushes.iter().filter_map(|push| push.put.as_ref());
    if puts.any(|put| matches!(put, PushFact::Present(_))) {
        goals.insert(match leasing {
            true => "duplicate refused",
            false => "present",
        });
    }
    of_unique_messages(facts, goals);
    if leasing {
        passed_keys(facts, goals);
    }
    of_calls(facts, goals);
    let mut last_fresh = None;
    for life in facts.lives() {
        let first = life
            .leases()
            .next()
            .filter(|lease| lease.delivery.attempt == 1);
        if let (Some(first), Some(last)) = (first, last_fresh)
            && first.span.before(&last)
        {
            goals.insert("overtaken");
        }
        last_fresh = first.map(|lease| lease.span).or(last_fresh);
        let push = life.push().map(|at| &facts.pushes[at]);
        if first.is_some() && push.is_some_and(|push| facts.is_delayed(push) == Some(true)) {
            goals.insert("delivered when due");
        }
        goals.extend(life.iter().filter_map(|event| happened(facts, life, event)));
        let visits = life
            .iter()
            .filter(|event| matches!(event.what, What::Visited(_)));
        if visits.count() > 1 {
            goals.insert("answer round");
        }
        expiries(facts, life, goals);
        outdated(facts, life, goals);
    }
}

/// Leases of a paused queue, and of one whose messages are not due.
fn of_calls(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    let mut paused: Option<Span> = None;
    for (done, span) in facts.calls() {
        match (&done.record.call, done.answer) {
            (Call::Pause, Some(_)) => paused = Some(span),
            (Call::Resume, _) => paused = None,
            (Call::Lease(..), Some(Answer::Leased(leased)))
                if leased.is_empty() && paused.is_some_and(|paused| paused.before(&span)) =>
            {
                goals.insert("paused lease");
            }
            (_, Some(Answer::Leased(leased)))
                if facts.kind() == QueueKind::Delay
                    && leased.next.is_some_and(|next| !next.is_zero()) =>
            {
                goals.insert("not due");
            }
            _ => {}
        }
    }
}

/// The goal that one event in a message's life shows.
fn happened<'a>(
    facts: &Facts<'a>,
    life: MessageLife<'_, 'a>,
    event: &Happened<'a>,
) -> Option<&'static str> {
    Some(match event.what {
        What::Settled(_, _, Some(Settled::LeaseLost)) => "stale receipt refused",
        What::Settled(_, disposition, Some(settled)) => match (disposition, settled) {
            (Disposition::Retry { .. }, Settled::Dead) => "retry on the last attempt",
            (Disposition::Retry { .. }, _) => "retried",
            (Disposition::Defer { .. }, _) => "deferred",
            (Disposition::Release, _) => "released",
            (Disposition::Bury { .. }, _) => "buried",
            (Disposition::AckWith(_), _) => "acked with a result",
            (Disposition::Ack, _) => return None,
        },
        What::Extended(_, _, Some(Extended::Extended)) => "extended",
        What::Extended(_, _, Some(Extended::LeaseLost)) => "extend refused",
        What::Reported(_, _, Some(Extended::Extended)) => "progress reported",
        What::Found(found) => match found {
            Found::Present {
                standing:
                    Standing::Leased {
                        progress: Some(_), ..
                    },
                ..
            } => "found with progress",
            Found::Present { .. } => "found in its place",
            Found::Dead { .. } => "found dead",
            Found::Done(_) => "found with a result",
            Found::Gone => "found gone",
            Found::NeverWas => "found that it never was",
        },
        What::Cancelled(Some(Cancelled::Cancelled)) => "cancelled",
        What::Cancelled(Some(Cancelled::TooLate)) => "late cancel",
        What::Cancelled(Some(Cancelled::NeverWas)) => "cancelled what never was",
        What::Peeked(peeked) => match &peeked.standing {
            Standing::Ready => "peeked at the ready",
            Standing::Delayed { .. } => "peeked at the delayed",
            Standing::Leased {
                holder: Some(_), ..
            } => "holder seen",
            Standing::Leased { holder: None, .. } => "peeked at the leased",
        },
        What::Rescheduled(to, Some(Rescheduled::Moved)) => {
            return moved(facts, life, to, &event.span);
        }
        What::Rescheduled(_, Some(Rescheduled::TooLate)) => "late reschedule",
        What::Replaced => replaced(facts, life, &event.span),
        What::Accepted(at) => {
            let (asked, has) = (facts.pushes[at].asked(), facts.due_of(&facts.pushes[at]));
            return (has.1 < asked.0).then_some("due at the latest");
        }
        What::Revived(Some(Revived::Revived)) => "revived",
        What::Revived(Some(Revived::Full)) => "revive refused",
        What::Letter(letter) if letter.reason == DeathReason::Expired => {
            "expired on the last attempt"
        }
        What::Letter(_) => "dead letters seen",
        What::Visited(_) => "visited",
        _ => return None,
    })
}

/// The direction in which a message is moved.
fn moved<'a>(
    facts: &Facts<'a>,
    life: MessageLife<'_, 'a>,
    to: Due,
    span: &Span,
) -> Option<&'static str> {
    let (earliest, latest) = due(to, span);
    let before = facts.dues(life, span);
    match &before[..] {
        _ if latest <= span.latest => Some("moved to now"),
        [before] if latest < before.earliest => Some("moved sooner"),
        [before] if earliest > before.latest => Some("moved later"),
        _ => None,
    }
}

/// The place of a message that is replaced then.
fn replaced<'a>(facts: &Facts<'a>, life: MessageLife<'_, 'a>, span: &Span) -> &'static str {
    if life.leases().any(|lease| lease.span.before(span)) {
        return "replaced a returned one";
    }
    let dues = facts.dues(life, span);
    match dues.iter().all(|due| due.earliest > span.clock) {
        true => "replaced a delayed one",
        false => "replaced a ready one",
    }
}

/// A push that got its key from a leased message.
fn passed_keys(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    let accepted = || {
        facts.pushes.iter().filter_map(|push| match push.put? {
            PushFact::Accepted(id) => Some((push, id)),
            _ => None,
        })
    };
    let is_passed = accepted().any(|(push, _)| {
        push.replaces.is_none()
            && push.key.is_some()
            && accepted()
                .any(|(holder, id)| holder.key == push.key && facts.life(id).is_leased(&push.span))
    });
    if is_passed {
        goals.insert("key passed on");
    }
}

/// A message that died as outdated, perhaps after it came back, and a message that its holder settled when its time to
/// live was over.
fn outdated(facts: &Facts<'_>, life: MessageLife<'_, '_>, goals: &mut BTreeSet<&'static str>) {
    let push = life.push().map(|at| &facts.pushes[at]);
    let is_over = |then: &Span| {
        push.is_some_and(|push| {
            let over = push.ends().is_some_and(|(_, end)| then.earliest >= end);
            over && !life.may_be_revived(&push.span, then)
        })
    };
    for happened in life.iter() {
        goals.extend(match happened.what {
            What::Letter(letter) if letter.reason == DeathReason::Outdated => {
                Some(match life.leases().next() {
                    Some(_) => "returned message outdated",
                    None => "outdated message buried",
                })
            }
            What::Settled(_, _, Some(Settled::Done | Settled::Dead)) if is_over(&happened.span) => {
                Some("settled when outdated")
            }
            _ => None,
        });
    }
}

/// A repeat of a message that is unique until it is done: before it is done, and afterwards within its window.
fn of_unique_messages(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    for push in &facts.pushes {
        let Some(dedup) = push.dedup else {
            continue;
        };
        match push.put {
            Some(PushFact::Present(first)) => {
                let first = facts.push_of(first);
                if first.is_some_and(|first| first.is_unique()) {
                    goals.insert("duplicate of a unique message");
                }
            }
            Some(PushFact::Accepted(_)) => {
                let had_it = facts.pushes.iter().any(|first| {
                    first.is_unique()
                        && matches!(first.put, Some(PushFact::Accepted(_)))
                        && first.dedup.is_some_and(|other| other.key == dedup.key)
                        && first.span.before(&push.span)
                        && push.span.clock < first.window_ends().0
                });
                if had_it {
                    goals.insert("accepted again when done");
                }
            }
            Some(PushFact::Full) | None => {}
        }
    }
}

/// A lease that expired, and the message leased again.
fn expiries(facts: &Facts<'_>, life: MessageLife<'_, '_>, goals: &mut BTreeSet<&'static str>) {
    let mut last: Option<Lease<'_>> = None;
    for lease in life.leases() {
        if let Some(last) = last.filter(|last| !life.may_be_settled(last, &lease.span)) {
            goals.insert("lease expired");
            let busy = facts.calls().any(|(done, span)| {
                span.may_be_between(&last.span, &lease.span)
                    && matches!(done.record.call, Call::Lease(..) | Call::SettleAndLease(..))
            });
            if busy {
                goals.insert("lease expired under load");
            }
        }
        last = Some(lease);
    }
}

/// A process that crashed with a live lease.
fn crashes(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    for (moment, event) in &facts.case.history.events {
        let Event::Crashed(crashed) = event else {
            continue;
        };
        let held = facts.lives().any(|life| {
            life.leases().any(|lease| {
                let process = facts
                    .calls()
                    .find(|(done, _)| done.record.id == lease.span.call)
                    .map(|(done, _)| done.record.process);
                let then = Span {
                    first: moment.order,
                    last: moment.order,
                    clock: moment.at.as_millis(),
                    ..Span::NEVER
                };
                process == Some(*crashed) && lease.span.before(&then) && life.is_live(&lease, &then)
            })
        });
        if held {
            goals.insert("crash under lease");
        }
    }
}
