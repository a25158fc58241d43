//! L7, L8: once the faults are over, every message is acked or dead, and none was lost on the way.

use queue_core::{
    Cancelled, Counters, Disposition, Settled,
    call::{Answer, Call},
};

use super::Found;
use crate::{
    check::{
        facts::{Facts, Life, What},
        span::Span,
    },
    history::{Event, Outcome},
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let mut events = facts.case.history.events.iter();
    let healed = events.find(|(_, event)| *event == Event::Healed);
    let (Some((healed, _)), true) = (healed, facts.branch.is_last) else {
        return;
    };
    let reads = facts.calls().filter_map(|(done, span)| match done.answer {
        Some(Answer::Counters(counters)) => Some((span, &**counters)),
        _ => None,
    });
    let Some((span, counters)) = reads.filter(|(span, _)| span.first > healed.order).last() else {
        return;
    };
    let left = counters.depth.occupied();
    if left > 0 {
        let message = format!("{left} messages are neither acked nor dead at the end");
        found.push(Found::at("L7", &[&span], message));
        return;
    }
    lost(facts, &span, counters, found);
}

/// A message that never left the queue, and is not in it.
fn lost(facts: &Facts<'_>, end: &Span, counters: &Counters, found: &mut Vec<Found>) {
    let blind = facts.calls().any(|(done, _)| match done.record.call {
        Call::Purge(_) | Call::OpenOrResize(_) => true,
        Call::Offer(..) | Call::Resize(_) => done.answer.is_none() || done.executed.len() > 1,
        _ => false,
    });
    if blind {
        return;
    }
    for life in facts.lives() {
        let Some(push) = life.push().map(|at| &facts.pushes[at]) else {
            continue;
        };
        let never_taken = life.leases().next().is_none() && facts.ghosts.is_empty();
        if push.span.before(end) && !may_have_left(life) && (counters.died == 0 || never_taken) {
            let mut records = facts.case.history.records.iter();
            let dropped = records.any(|record| {
                let outcome = record.ended.as_ref().map(|ended| &ended.outcome);
                matches!(outcome, Some(Outcome::Dropped | Outcome::Unknown(..)))
            });
            let rule = if dropped { "L8" } else { "L5" };
            let message = format!("message {} is lost", life.id());
            found.push(Found::at(rule, &[&push.span, end], message));
        }
    }
}

fn may_have_left(life: Life<'_, '_>) -> bool {
    life.iter().any(|happened| match happened.what {
        What::Settled(_, disposition, settled) => {
            let leaves = matches!(disposition, Disposition::Ack | Disposition::Bury { .. });
            settled == Some(Settled::Dead)
                || settled != Some(Settled::LeaseLost) && (leaves || settled.is_none())
        }
        What::Evicted | What::Dropped | What::Replaced | What::Letter(_) | What::Discarded(_) => {
            true
        }
        What::Cancelled(answer) => answer != Some(Cancelled::TooLate),
        _ => false,
    })
}
