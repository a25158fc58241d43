//! D1, D4: no message comes early; a call cancels or moves it in time, or answers that it is too
//! late.

use queue_core::{Cancelled, Due, Rescheduled};

use super::Found;
use crate::check::{
    facts::{Facts, Life, What, due},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        never_early(facts, life, found);
        for happened in life.iter() {
            let (done, verb) = match happened.what {
                What::Cancelled(Some(answer)) => (answer == Cancelled::Cancelled, "cancelled"),
                What::Rescheduled(_, Some(answer)) => (answer == Rescheduled::Moved, "moved"),
                _ => continue,
            };
            if done {
                in_time(life, &happened.span, verb, found);
            } else {
                too_late(facts, life, &happened.span, verb, found);
            }
        }
        for happened in life.iter() {
            if matches!(happened.what, What::Cancelled(Some(Cancelled::Cancelled))) {
                stays_cancelled(life, &happened.span, found);
            }
        }
    }
}

/// The first delivery is not before the due time. Later ones follow other rules.
fn never_early(facts: &Facts<'_>, life: Life<'_, '_>, found: &mut Vec<Found>) {
    let (Some(push), Some(lease)) = (life.push(), life.leases().next()) else {
        return;
    };
    let push = &facts.pushes[push];
    let mut earliest = push.due().0;
    let mut dues = vec![push.due.unwrap_or(Due::After(std::time::Duration::ZERO))];
    for happened in life.iter() {
        match happened.what {
            What::Rescheduled(_, Some(Rescheduled::TooLate)) => {}
            What::Rescheduled(to, _) if happened.span.may_precede(&lease.span) => {
                earliest = earliest.min(due(to, &happened.span).0);
                dues.push(to);
            }
            What::Revived(_) => return,
            _ => {}
        }
    }
    // Without the backend's own times, a time on its clock and one on ours cannot be compared.
    let by_clock = dues.iter().any(|due| matches!(due, Due::At(_)));
    if by_clock && !facts.case.history.has_truth {
        return;
    }
    if lease.span.clock < earliest {
        let message = format!(
            "message {} is delivered at {}, due at {earliest}",
            life.id(),
            lease.span.latest
        );
        found.push(Found::at("D1", &[&push.span, &lease.span], message));
    }
}

/// A message that a call cancels or moves was not leased, and not cancelled already.
fn in_time(life: Life<'_, '_>, span: &Span, verb: &str, found: &mut Vec<Found>) {
    for lease in life.leases() {
        if lease.span.before(span) && life.is_live(&lease, span) {
            let message = format!(
                "message {} is {verb} at {} under a lease until {}",
                life.id(),
                span.latest,
                life.deadline(&lease, span).0
            );
            found.push(Found::at("D4", &[&lease.span, span], message));
        }
    }
    let gone = life.iter().find(|happened| {
        matches!(happened.what, What::Cancelled(Some(Cancelled::Cancelled)))
            && happened.span.before(span)
    });
    if let Some(gone) = gone {
        let message = format!("message {} is {verb}, and was cancelled before", life.id());
        found.push(Found::at("D4", &[&gone.span, span], message));
    }
}

/// A message that was never leased, nor removed in any other way, is not too late.
fn too_late(
    facts: &Facts<'_>,
    life: Life<'_, '_>,
    span: &Span,
    verb: &str,
    found: &mut Vec<Found>,
) {
    let Some(push) = life.push().map(|at| &facts.pushes[at]) else {
        return;
    };
    let taken = life.iter().any(|happened| {
        let takes = match happened.what {
            What::Delivered(..) => true,
            What::Cancelled(answer) => answer != Some(Cancelled::TooLate),
            _ => false,
        };
        takes && happened.span.may_precede(span)
    });
    let purged = facts.calls().any(|(done, purge)| {
        matches!(done.record.call, queue_core::call::Call::Purge(_)) && purge.may_precede(span)
    });
    if push.span.before(span) && !taken && !purged && facts.ghosts_before(span) == 0 {
        let message = format!(
            "message {} was never taken, and is too late to be {verb}",
            life.id()
        );
        found.push(Found::at("D4", &[&push.span, span], message));
    }
}

fn stays_cancelled(life: Life<'_, '_>, span: &Span, found: &mut Vec<Found>) {
    for happened in life.iter() {
        let there = matches!(happened.what, What::Delivered(..) | What::Letter(_));
        if there && span.before(&happened.span) {
            let message = format!(
                "message {} was cancelled, and is delivered or dead",
                life.id()
            );
            found.push(Found::at("D4", &[span, &happened.span], message));
        }
    }
}
