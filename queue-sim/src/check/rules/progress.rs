//! L7, L8: once the faults are over, every message is acked, dead or outdated, and none was lost on
//! the way.

use queue_core::{
    Cancelled, Depth, Disposition, Settled,
    call::{Answer, Call},
};

use super::Found;
use crate::{
    check::{
        facts::{Facts, MessageLife, What},
        span::Span,
    },
    history::{CallEnd, Event},
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let mut events = facts.case.history.events.iter();
    let healed = events.find(|(_, event)| *event == Event::Healed);
    let (Some((healed, _)), true) = (healed, facts.branch.is_last) else {
        return;
    };
    let Some((span, depth, died)) = last_read(facts, healed.order) else {
        return;
    };
    let left = depth.occupied();
    if is_only_read(facts) {
        return unaccounted(facts, &span, left, found);
    }
    if left > 0 {
        let message = format!("{left} messages are neither acked, dead nor outdated at the end");
        found.push(Found::at("L7", &[&span], message));
        return;
    }
    lost(facts, &span, died, found);
}

/// Whether the queue has no counters, and nobody leases from it.
fn is_only_read(facts: &Facts<'_>) -> bool {
    !facts.calls().any(|(done, _)| {
        let leases = matches!(done.record.call, Call::Lease(..) | Call::SettleAndLease(..));
        leases || matches!(done.record.call, Call::Counters)
    })
}

/// The queue at the end, as a caller sees it: by its counters, or by its depth if it has none.
fn last_read(facts: &Facts<'_>, healed: u64) -> Option<(Span, Depth, u64)> {
    let reads = || facts.calls().filter(|(_, span)| span.first > healed);
    let counters = reads().filter_map(|(done, span)| match done.answer {
        Some(Answer::Counters(counters)) => Some((span, counters.depth, counters.died)),
        _ => None,
    });
    let depths = reads().filter_map(|(done, span)| match done.answer {
        Some(Answer::Depth(depth)) => Some((span, *depth, depth.dead)),
        _ => None,
    });
    counters.last().or_else(|| depths.last())
}

/// A queue from which nobody leases holds all accepted messages, except those that its answers say are gone.
fn unaccounted(facts: &Facts<'_>, end: &Span, left: u64, found: &mut Vec<Found>) {
    if !facts.ghosts.is_empty() || facts.pushes.iter().any(|push| push.put.is_none()) {
        return;
    }
    let there = facts
        .lives()
        .filter(|life| life.push().is_some() && !may_have_left(facts, *life, end));
    let there = there.count() as u64;
    if there > left {
        for rule in ["B2", "L5"] {
            let message = format!("{left} of {there} messages are left, and no call reported that");
            found.push(Found::at(rule, &[end], message));
        }
    }
}

/// A message that never left the queue, and is not in it.
fn lost(facts: &Facts<'_>, end: &Span, died: u64, found: &mut Vec<Found>) {
    if facts.calls().any(|(done, _)| facts.removes_unknown(done)) {
        return;
    }
    for life in facts.lives() {
        let Some(push) = life.push().map(|at| &facts.pushes[at]) else {
            continue;
        };
        let never_taken = life.leases().next().is_none() && facts.ghosts.is_empty();
        let there = push.span.before(end) && !may_have_left(facts, life, end);
        if there && (died == 0 || never_taken) {
            let mut records = facts.case.history.records.iter();
            let dropped = records.any(|record| {
                let outcome = record.ended.as_ref().map(|ended| &ended.outcome);
                !record.call.is_wait()
                    && matches!(outcome, Some(CallEnd::Dropped | CallEnd::Unknown(..)))
            });
            let rule = if dropped { "L8" } else { "L5" };
            let message = format!("message {} is lost", life.id());
            found.push(Found::at(rule, &[&push.span, end], message));
        }
    }
}

fn may_have_left(facts: &Facts<'_>, life: MessageLife<'_, '_>, end: &Span) -> bool {
    let is_accounted_for = life.iter().any(|happened| match happened.what {
        What::Settled(_, disposition, settled) => {
            let leaves = matches!(
                disposition,
                Disposition::Ack | Disposition::AckWith(_) | Disposition::Bury { .. }
            );
            settled == Some(Settled::Dead)
                || settled != Some(Settled::LeaseLost) && (leaves || settled.is_none())
        }
        What::Evicted | What::Dropped | What::Replaced | What::Letter(_) | What::Discarded(_) => {
            true
        }
        What::Cancelled(answer) => matches!(answer, None | Some(Cancelled::Cancelled)),
        _ => false,
    });
    is_accounted_for || facts.may_be_outdated(life, end)
}
