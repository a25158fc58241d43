//! Goals that histories must reach now and then; otherwise checking proves little.

mod messages;

use std::collections::BTreeSet;

use queue_core::{
    OnDeath, Pushed, QueueConfig, QueueKind,
    call::{Answer, Call},
};

use super::{
    CheckInput,
    branch::{Done, branches},
    facts::Facts,
};
use crate::{
    history::{CallEnd, Record},
    workload::Played,
};

/// The goals of a kind: those of its name, and of the calls that it has.
const GOALS: &[(&str, &[&str])] = &[
    ("lease", LEASING),
    ("next_due", &["not due"]),
    ("priority", &["overtaken"]),
    ("recent", &["evicted", "full", "recent", "revive refused"]),
    ("change_group", &["reconfigured to park"]),
    (
        "resize",
        &["opened with another capacity", "resize dropped"],
    ),
    ("wait_for_room", &["room waited for"]),
    ("rotate", ROTATING),
];
const LEASING: &[&str] = &[
    "accepted again when done",
    "ack reply lost",
    "batch leased",
    "buried",
    "cancelled",
    "cancelled what never was",
    "counters read",
    "crash under lease",
    "dead letters seen",
    "deferred",
    "due at the latest",
    "delivered when due",
    "discarded",
    "duplicate of a unique message",
    "duplicate refused",
    "empty lease",
    "executed after it was given up",
    "expired on the last attempt",
    "extend refused",
    "extended",
    "holder seen",
    "key passed on",
    "late cancel",
    "late reschedule",
    "lease expired",
    "lease expired under load",
    "lease reply lost",
    "moved later",
    "moved sooner",
    "moved to now",
    "outdated message buried",
    "outdated message dropped",
    "paused lease",
    "peeked at the delayed",
    "peeked at the leased",
    "peeked at the ready",
    "purged",
    "push reply lost",
    "push without effect",
    "reconfigured",
    "released",
    "replaced a delayed one",
    "replaced a ready one",
    "replaced a returned one",
    "retried",
    "retry on the last attempt",
    "returned message outdated",
    "revived",
    "settled when outdated",
    "stale receipt refused",
    "answer",
    "waited in vain",
    "woken",
];
const ROTATING: &[&str] = &[
    "empty rotation",
    "listed",
    "pace waited for",
    "present",
    "reconfigured",
    "removed",
    "rotation lost",
    "answer round",
    "visited",
];

/// The goals that the histories of this kind of queue must reach, all of them together, in runs
/// with faults and without.
pub fn goals(kind: QueueKind) -> BTreeSet<&'static str> {
    of_calls(GOALS, kind).collect()
}

/// The goals in this table of a kind, and of the calls that it has.
pub(crate) fn of_calls(
    goals: &'static [(&str, &[&str])],
    kind: QueueKind,
) -> impl Iterator<Item = &'static str> {
    let of_call = move |call| goals.iter().filter(move |(name, _)| *name == call);
    Call::names(kind)
        .chain([kind.as_str()])
        .flat_map(of_call)
        .flat_map(|(_, goals)| *goals)
        .copied()
}

/// The goals that this run reached, as its history shows and as its driver noted.
pub fn reached(played: &Played) -> BTreeSet<&'static str> {
    let case = &CheckInput::of(played);
    let mut goals = played.goals.clone();
    for record in &case.history.records {
        of_outcome(case, record, &mut goals);
    }
    let branches = branches(case.history);
    if let Some(branch) = branches.last() {
        let facts = Facts::of(case, branch);
        for (done, _) in facts.calls() {
            of_answer(done, &mut goals);
        }
        messages::reached(&facts, &mut goals);
    }
    goals
}

fn of_outcome(case: &CheckInput<'_>, record: &Record, goals: &mut BTreeSet<&'static str>) {
    let Some(ended) = &record.ended else {
        return;
    };
    let executed = record.executed.last();
    if executed.is_some_and(|executed| executed.order > ended.at.order) {
        goals.insert("executed after it was given up");
    }
    if let Some(timeout) = record.call.waits_for() {
        let waited = ended.at.at.since(record.began.at);
        goals.extend(match (&record.call, &ended.outcome) {
            (Call::WaitToLease(..), _) if executed.is_some() => Some(match record.only_waited() {
                true => "handed over in vain",
                false => "handed over",
            }),
            (_, CallEnd::Ok(_)) if waited >= timeout => Some("waited in vain"),
            (Call::WaitForRoom(_), CallEnd::Ok(_)) => Some("room waited for"),
            (_, CallEnd::Ok(_)) => Some("woken"),
            _ => None,
        });
        return;
    }
    if !matches!(ended.outcome, CallEnd::Unknown(..) | CallEnd::Dropped) || !case.history.has_truth
    {
        return;
    }
    goals.extend(match (&record.call, executed.is_some()) {
        (Call::Settle(batch) | Call::SettleAndLease(batch, ..), true)
            if batch.iter().any(|one| one.disposition.is_ack()) =>
        {
            Some("ack reply lost")
        }
        (Call::Lease(..) | Call::SettleAndLease(..), true) => Some("lease reply lost"),
        (Call::Rotate(_), true) => Some("rotation lost"),
        (Call::Push(_), true) => Some("push reply lost"),
        (Call::Push(_), false) => Some("push without effect"),
        _ => None,
    });
}

fn of_answer(done: &Done<'_>, goals: &mut BTreeSet<&'static str>) {
    goals.extend(match (&done.record.call, done.answer) {
        (_, Some(Answer::Leased(leased))) if leased.deliveries.len() > 1 => Some("batch leased"),
        (call, Some(Answer::Leased(leased))) if leased.is_empty() && !call.is_wait() => {
            Some("empty lease")
        }
        (_, Some(Answer::SettledAndLeased(settled, leased)))
            if !settled.is_empty() && !leased.is_empty() =>
        {
            Some("answer")
        }
        (_, Some(Answer::Counters(_))) => Some("counters read"),
        (Call::OpenOrResize(_), Some(_)) => Some("opened with another capacity"),
        (Call::Reconfigure(QueueConfig::Grouped(config)), Some(_))
            if config.on_death == OnDeath::Park =>
        {
            Some("reconfigured to park")
        }
        (Call::Reconfigure(_), Some(_)) => Some("reconfigured"),
        (Call::Purge(_), Some(Answer::Count(1..))) => Some("purged"),
        (Call::Discard(_), Some(Answer::Count(1..))) => Some("discarded"),
        (Call::Remove(_), Some(Answer::Count(1..))) => Some("removed"),
        (Call::Recent(_), Some(Answer::Messages(messages))) if !messages.is_empty() => {
            Some("recent")
        }
        (_, Some(Answer::Items(page))) if !page.entries.is_empty() => Some("listed"),
        (_, Some(Answer::Ids(dropped))) if !dropped.is_empty() => Some("resize dropped"),
        (_, Some(Answer::Rotated(rotated))) if rotated.next.is_some_and(|next| !next.is_zero()) => {
            Some("pace waited for")
        }
        (_, Some(Answer::Rotated(rotated))) if rotated.items.is_empty() => Some("empty rotation"),
        _ => None,
    });
    if let Some(Answer::Counters(counters)) = done.answer
        && counters.outdated > 0
    {
        goals.insert("outdated message dropped");
    }
    if let Some(Answer::Pushed(pushed)) = done.answer {
        goals.extend(pushed.iter().filter_map(|pushed| match pushed {
            Pushed::Evicted { .. } => Some("evicted"),
            Pushed::Full => Some("full"),
            _ => None,
        }));
    }
}
