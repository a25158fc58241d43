//! The branches of a history, after roll-backs (R1).

use std::borrow::Cow;

use queue_core::{
    MessageId,
    call::{Answer, Call},
};

use crate::history::{CallEnd, Event, History, Moment, Record};

/// The calls of one branch that took effect, or may have taken effect. Each roll-back ends a branch; the surviving part
/// begins the next.
#[derive(Debug)]
pub(super) struct Branch<'a> {
    pub(super) calls: Vec<Done<'a>>,
    /// Whether the branch goes on to the end of the run.
    pub(super) is_last: bool,
}

/// A call that took effect, or may have.
#[derive(Debug)]
pub(super) struct Done<'a> {
    pub(super) record: &'a Record,
    /// The moments at which the backend executed it, if they are known.
    pub(super) executed: Cow<'a, [Moment]>,
    /// The answer. `None` if an execution outside the branch may have answered.
    pub(super) answer: Option<&'a Answer>,
    /// For a rotation, the items that were removed between its execution and its end.
    pub(super) gone: Vec<MessageId>,
}

/// The branches of a run, in order.
pub(super) fn branches(history: &History) -> Vec<Branch<'_>> {
    let undone = history.events.iter().filter_map(|(at, event)| match event {
        Event::RolledBack { to } => Some((*to, at.order)),
        _ => None,
    });
    let undone: Vec<(u64, u64)> = undone.collect();
    let removals = removals(history);
    let mut branches = Vec::with_capacity(undone.len() + 1);
    for (nth, (_, end)) in undone.iter().enumerate() {
        branches.push(branch(history, &removals, &undone[..nth], *end));
    }
    branches.push(branch(history, &removals, &undone, u64::MAX));
    branches
}

/// The removals from a ring, including undone ones, each with its place in the order of the run.
fn removals(history: &History) -> Vec<(u64, &[MessageId])> {
    let removals = history.records.iter().filter_map(|record| {
        let Call::Remove(ids) = &record.call else {
            return None;
        };
        let executed = record.executed.iter();
        Some(executed.map(|moment| (moment.order, &ids[..])))
    });
    removals.flatten().collect()
}

/// The items that were removed between a rotation's execution and its end.
fn gone(record: &Record, removals: &[(u64, &[MessageId])]) -> Vec<MessageId> {
    let (Call::Rotate(_), Some(first), Some(ended)) =
        (&record.call, record.executed.first(), &record.ended)
    else {
        return Vec::new();
    };
    let meanwhile = removals
        .iter()
        .filter(|(order, _)| (first.order..ended.at.order).contains(order));
    meanwhile.flat_map(|(_, ids)| ids.iter().copied()).collect()
}

/// The executions up to `end`, without executions that a roll-back undid.
fn branch<'a>(
    history: &'a History,
    removals: &[(u64, &[MessageId])],
    undone: &[(u64, u64)],
    end: u64,
) -> Branch<'a> {
    let survives = |moment: &Moment| {
        moment.order <= end
            && !undone
                .iter()
                .any(|(to, at)| (*to + 1..=*at).contains(&moment.order))
    };
    let is_last = end == u64::MAX;
    let whole = is_last && undone.is_empty();
    let calls = history.records.iter().filter_map(|record| {
        let outcome = record.ended.as_ref().map(|ended| &ended.outcome);
        if matches!(outcome, Some(CallEnd::NotApplied(..))) {
            return None;
        }
        if whole || record.executed.is_empty() {
            let may_have = !history.has_truth || !record.executed.is_empty();
            let is_wait = record.call.is_wait() && is_last;
            return (may_have || is_wait).then(|| Done {
                record,
                executed: Cow::Borrowed(&record.executed),
                answer: record.answer(),
                gone: gone(record, removals),
            });
        }
        let kept: Vec<Moment> = record.executed.iter().copied().filter(survives).collect();
        let all = kept.len() == record.executed.len();
        (!kept.is_empty()).then(|| Done {
            record,
            executed: Cow::Owned(kept),
            answer: record.answer().filter(|_| all),
            gone: gone(record, removals),
        })
    });
    Branch {
        calls: calls.collect(),
        is_last,
    }
}
