//! D1: no message comes early. D4: a call moves a message in time, or its answer is that it is too late.

use queue_core::{QueueKind, Rescheduled, Standing};

use super::{
    Found,
    cancelling::{was_taken, was_undelivered},
    peeking::{is_delayed, is_ready},
};
use crate::check::{
    facts::{Facts, MessageLife, What},
    span::Span,
};

pub(super) fn check<'a>(facts: &Facts<'a>, found: &mut Vec<Found>) {
    for life in facts.lives() {
        never_early(facts, life, found);
        for happened in life.iter() {
            let span = &happened.span;
            match happened.what {
                What::Rescheduled(_, Some(Rescheduled::Moved)) => {
                    was_undelivered(life, span, "D4", "moved", found);
                    was_delayed(facts, life, span, found);
                }
                What::Rescheduled(_, Some(Rescheduled::TooLate)) => {
                    too_late(facts, life, span, found);
                }
                _ => {}
            }
        }
    }
}

/// Elsewhere than on a delay queue, a ready message is not moved.
fn was_delayed<'a>(
    facts: &Facts<'a>,
    life: MessageLife<'_, 'a>,
    span: &Span,
    found: &mut Vec<Found>,
) {
    if facts.kind() == QueueKind::Delay || facts.may_take_unknown(span) {
        return;
    }
    if let Some(ready) = is_ready(facts, life, span) {
        let message = format!("message {} is ready, and is moved", life.id());
        found.push(Found::at("D4", &[&ready, span], message));
    }
}

/// It is not too late for a message that waits for its due time, on a delay queue also for a ready one.
fn too_late<'a>(facts: &Facts<'a>, life: MessageLife<'_, 'a>, span: &Span, found: &mut Vec<Found>) {
    if facts.kind() == QueueKind::Delay {
        was_taken(facts, life, span, "D4", "moved", found);
    }
    if facts.may_take_unknown(span) {
        return;
    }
    if let Some(delayed) = is_delayed(facts, life, span) {
        let message = format!(
            "message {} is delayed, and is too late to be moved",
            life.id()
        );
        found.push(Found::at("D4", &[&delayed, span], message));
    }
}

/// No delivery is before the due time, and no call shows the message as ready before. The rules about what returns say
/// more of a retry and a defer.
fn never_early<'a>(facts: &Facts<'a>, life: MessageLife<'_, 'a>, found: &mut Vec<Found>) {
    let delivered = life.leases().map(|lease| (lease.span, "delivered"));
    let shown = life.iter().filter_map(|happened| match happened.what {
        What::Seen(_) => Some((happened.span, "shown as ready")),
        What::Peeked(peeked) if peeked.standing == Standing::Ready => {
            Some((happened.span, "shown as ready"))
        }
        _ => None,
    });
    for (span, how) in delivered.chain(shown) {
        let dues = facts.dues(life, &span);
        let returns = |what: &What<'_>| matches!(what, What::Settled(..));
        let moves = |what: &What<'_>| matches!(what, What::Rescheduled(..));
        if dues.iter().any(|due| returns(&due.by.what)) {
            continue;
        }
        let Some(due) = dues.iter().min_by_key(|due| due.earliest) else {
            continue;
        };
        if span.clock < due.earliest {
            let rule = match dues.iter().all(|due| moves(&due.by.what)) {
                true => "D4",
                false => "D1",
            };
            let message = format!(
                "message {} is {how} at {}, due at {}",
                life.id(),
                span.latest,
                due.earliest
            );
            found.push(Found::at(rule, &[&due.by.span, &span], message));
        }
    }
}
