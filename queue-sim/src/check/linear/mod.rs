//! Looks for an order of the calls in which the reference model answers as the backend did.

mod cursors;
mod explain;
pub(super) mod order;
mod replay;
mod search;

use std::collections::BTreeMap;

use queue_core::{
    QueueConfig,
    call::{Answer, Call},
    limits::MAX_BATCH,
};

use self::{
    order::Steps,
    search::{Search, Searched},
};
use super::{
    Budget, Facts, Finding,
    branch::{Branch, Done},
    rules::Found,
};
use crate::{
    history::{CallId, Moment},
    model,
};

/// The first call, in the backend's order of executions, whose answer differs from the reference model's, with the
/// model's answer.
pub(super) fn first_wrong(
    config: &QueueConfig,
    branch: &Branch<'_>,
) -> Option<(CallId, model::ModelResult<Answer>)> {
    let deviation = replay::deviation(config, branch, &Steps::of(branch))?;
    let call = branch.calls[deviation.call].record.id;
    Some((call, deviation.expected))
}

/// The places of all messages in the reference model after each call.
pub(super) fn views(
    config: &QueueConfig,
    branch: &Branch<'_>,
) -> BTreeMap<CallId, Vec<model::PlaceView>> {
    replay::views(config, branch, &Steps::of(branch))
}

/// Whether a call that lowered the capacity dropped messages in several steps, with another call in between (B5). The
/// model drops them all at once, so it cannot judge such a run.
///
/// A call without an answer may have taken the first step alone; later pushes take the others. There is more than one
/// step only if the queue had more messages than one takes.
fn drops_in_steps(facts: &Facts<'_>) -> bool {
    let calls = || facts.branch.calls.iter();
    let is_crowded = facts.pushes.len() > MAX_BATCH;
    let lowers = |done: &&Done<'_>| {
        matches!(
            done.record.call,
            Call::Resize(_) | Call::OpenOrResize(_) | Call::Reconfigure(QueueConfig::Bounded(_))
        )
    };
    calls().filter(lowers).any(|lowering| {
        if is_crowded && lowering.answer.is_none() && !lowering.executed.is_empty() {
            return true;
        }
        let (first, last) = (lowering.executed.first(), lowering.executed.last());
        let between = |moment: &Moment| first < Some(moment) && Some(moment) < last;
        let others = calls().filter(|other| !std::ptr::eq(*other, lowering));
        others.flat_map(|other| other.executed.iter()).any(between)
    })
}

/// Looks for an order. Returns true if the search came to a result.
///
/// The search first tries the backend's order of executions, which is nearly always right. Only if that order fails,
/// the search tries all others.
pub(super) fn check(facts: &Facts<'_>, budget: Budget, found: &mut Vec<Found>) -> bool {
    let steps = Steps::of(facts.branch);
    let Some(deviation) = replay::deviation(facts.case.config, facts.branch, &steps) else {
        return true;
    };
    let search = Search::of(facts.case.config, facts.branch, &steps);
    let mut searched = search.run(budget.0);
    if searched == Searched::Spent {
        searched = search.run(budget.0.saturating_mul(10));
    }
    match searched {
        Searched::Found => return true,
        Searched::Spent => return false,
        Searched::Impossible if drops_in_steps(facts) => return true,
        Searched::Impossible => {}
    }
    let call = facts.branch.calls[deviation.call].record.id;
    found.push(Found {
        // A broken rule says more than this finding, so this finding comes last.
        at: u64::MAX,
        finding: Finding::new("linearisable", explain::explain(facts, &deviation)).shown_by([call]),
    });
    true
}
