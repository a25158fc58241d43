//! D1: no message comes early. D4: a call moves a message in time, or its answer is that it is too late.

use queue_core::{Due, Rescheduled, Standing};

use super::{
    Found,
    cancelling::{was_taken, was_undelivered},
};
use crate::check::{
    facts::{Facts, Happened, MessageLife, Pushing, What, due},
    span::Span,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        never_early(facts, life, found);
        for happened in life.iter() {
            let span = &happened.span;
            match happened.what {
                What::Rescheduled(_, Some(Rescheduled::Moved)) => {
                    was_undelivered(life, span, "D4", "moved", found);
                }
                What::Rescheduled(_, Some(Rescheduled::TooLate)) => {
                    was_taken(facts, life, span, "D4", "moved", found);
                }
                _ => {}
            }
        }
    }
}

/// The first delivery is not before the due time, and no call shows the message as ready before. Later deliveries
/// follow other rules.
fn never_early(facts: &Facts<'_>, life: MessageLife<'_, '_>, found: &mut Vec<Found>) {
    let Some(push) = life.push().map(|at| &facts.pushes[at]) else {
        return;
    };
    let revived = |happened: &Happened<'_>| matches!(happened.what, What::Revived(_));
    if push.due.is_none() || life.iter().any(revived) {
        return;
    }
    let first = life.leases().next().map(|lease| (lease.span, "delivered"));
    let shown = life.iter().filter_map(|happened| match happened.what {
        What::Seen(_) => Some((happened.span, "shown as ready")),
        What::Peeked(peeked) if peeked.standing == Standing::Ready => {
            Some((happened.span, "shown as ready"))
        }
        _ => None,
    });
    for (span, how) in first.into_iter().chain(shown) {
        let due = earliest_due(facts, life, push, &span);
        if let Some(due) = due.filter(|due| span.clock < *due) {
            let message = format!(
                "message {} is {how} at {}, due at {due}",
                life.id(),
                span.latest
            );
            found.push(Found::at("D1", &[&push.span, &span], message));
        }
    }
}

/// The earliest possible due time then; `None` if it cannot be known.
fn earliest_due(
    facts: &Facts<'_>,
    life: MessageLife<'_, '_>,
    push: &Pushing<'_>,
    then: &Span,
) -> Option<u64> {
    let mut earliest = push.due().0;
    let mut by_clock = matches!(push.due, Some(Due::At(_)));
    for happened in life.perhaps_before(then) {
        match happened.what {
            What::Rescheduled(_, Some(Rescheduled::TooLate)) => {}
            What::Rescheduled(to, _) => {
                earliest = earliest.min(due(to, &happened.span).0);
                by_clock |= matches!(to, Due::At(_));
            }
            _ => {}
        }
    }
    // Without the backend's own times, a time on its clock and a time on ours cannot be compared.
    (!by_clock || facts.case.history.has_truth).then_some(earliest)
}
