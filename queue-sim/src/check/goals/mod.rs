//! Goals that histories must reach now and then; without them, checking proves little.

use std::collections::BTreeSet;

use queue_core::{
    Cancelled, DeathReason, Disposition, Extended, Offered, QueueKind, Rescheduled, Revived,
    Settled, Standing,
    call::{Answer, Call},
};

use super::{
    Case,
    branch::{Done, branches},
    facts::{Facts, Put, What},
    span::Span,
};
use crate::{
    history::{Event, Outcome, Record},
    run::Played,
};

/// The goals of a kind are those of the calls that it has.
const GOALS: &[(&str, &[&str])] = &[
    ("lease", LEASING),
    ("schedule", &["not due"]),
    ("reschedule", &["late reschedule", "moved"]),
    ("enqueue", &["overtaken"]),
    ("offer", &["evicted", "full", "replaced", "revive refused"]),
    ("recent", &["recent"]),
    (
        "resize",
        &["opened with another capacity", "resize dropped"],
    ),
    ("wait_for_room", &["room waited for"]),
    ("rotate", ROTATING),
];
const LEASING: &[&str] = &[
    "accepted anew when done",
    "ack reply lost",
    "batch leased",
    "buried",
    "cancelled",
    "cancelled what never was",
    "counters read",
    "crash under lease",
    "dead letters seen",
    "deferred",
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
    "late cancel",
    "lease expired",
    "lease expired under load",
    "lease reply lost",
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
    "retried",
    "retry on the last attempt",
    "returned message outdated",
    "revived",
    "settled when outdated",
    "stale receipt refused",
    "turned",
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
    "turned round",
    "visited",
];

/// The goals that the histories of this kind of queue must reach, all of them together, in runs
/// with faults and without.
pub fn goals(kind: QueueKind) -> BTreeSet<&'static str> {
    of_calls(GOALS, kind).collect()
}

/// The goals in this table of the calls that a kind has.
pub(crate) fn of_calls(
    goals: &'static [(&str, &[&str])],
    kind: QueueKind,
) -> impl Iterator<Item = &'static str> {
    let of_call = move |call| goals.iter().filter(move |(name, _)| *name == call);
    Call::names(kind)
        .flat_map(of_call)
        .flat_map(|(_, goals)| *goals)
        .copied()
}

/// The goals that this run reached, as its history shows and as its player noted.
pub fn reached(played: &Played) -> BTreeSet<&'static str> {
    let case = &Case::of(played);
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
        of_messages(&facts, &mut goals);
        crashes(&facts, &mut goals);
    }
    goals
}

fn of_outcome(case: &Case<'_>, record: &Record, goals: &mut BTreeSet<&'static str>) {
    let Some(ended) = &record.ended else {
        return;
    };
    let executed = record.executed.last();
    if executed.is_some_and(|executed| executed.order > ended.at.order) {
        goals.insert("executed after it was given up");
    }
    if record.call.is_wait() {
        let (Call::WaitForArrival(timeout)
        | Call::WaitForRoom(timeout)
        | Call::WaitForTurn(timeout)) = record.call
        else {
            return;
        };
        let waited = ended.at.at.since(record.began.at);
        if ended.outcome == Outcome::Ok(Answer::Nothing) {
            goals.insert(match record.call {
                _ if waited >= timeout => "waited in vain",
                Call::WaitForRoom(_) => "room waited for",
                _ => "woken",
            });
        }
        return;
    }
    if !matches!(ended.outcome, Outcome::Unknown(..) | Outcome::Dropped) || !case.history.has_truth
    {
        return;
    }
    goals.extend(match (&record.call, executed.is_some()) {
        (Call::Settle(batch) | Call::Turn(batch, ..), true)
            if batch.iter().any(|one| one.disposition == Disposition::Ack) =>
        {
            Some("ack reply lost")
        }
        (Call::Lease(..) | Call::Turn(..), true) => Some("lease reply lost"),
        (Call::Rotate(_), true) => Some("rotation lost"),
        (call, true) if call.pushes().is_some() => Some("push reply lost"),
        (call, false) if call.pushes().is_some() => Some("push without effect"),
        _ => None,
    });
}

fn of_answer(done: &Done<'_>, goals: &mut BTreeSet<&'static str>) {
    goals.extend(match (&done.record.call, done.answer) {
        (_, Some(Answer::Leased(leased))) if leased.deliveries.len() > 1 => Some("batch leased"),
        (_, Some(Answer::Leased(leased))) if leased.is_empty() => Some("empty lease"),
        (_, Some(Answer::Turned(settled, leased))) if !settled.is_empty() && !leased.is_empty() => {
            Some("turned")
        }
        (_, Some(Answer::Counters(_))) => Some("counters read"),
        (Call::OpenOrResize(_), Some(_)) => Some("opened with another capacity"),
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
    if let Some(Answer::Offered(offered)) = done.answer {
        goals.extend(offered.iter().filter_map(|offered| match offered {
            Offered::Accepted {
                evicted: Some(_), ..
            } => Some("evicted"),
            Offered::Replaced { .. } => Some("replaced"),
            Offered::Full => Some("full"),
            _ => None,
        }));
    }
}

fn of_messages(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    let leasing = facts.kind() != QueueKind::Rotating;
    for push in &facts.pushes {
        if let Some(Put::Present(_)) = push.put {
            goals.insert(if leasing {
                "duplicate refused"
            } else {
                "present"
            });
        }
    }
    of_unique_messages(facts, goals);
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
        let mut visits = 0;
        for happened in life.iter() {
            goals.extend(match happened.what {
                What::Settled(_, _, Some(Settled::LeaseLost)) => Some("stale receipt refused"),
                What::Settled(_, disposition, Some(settled)) => {
                    Some(match (disposition, settled) {
                        (Disposition::Retry { .. }, Settled::Dead) => "retry on the last attempt",
                        (Disposition::Retry { .. }, _) => "retried",
                        (Disposition::Defer { .. }, _) => "deferred",
                        (Disposition::Release, _) => "released",
                        (Disposition::Bury { .. }, _) => "buried",
                        (Disposition::Ack, _) => continue,
                    })
                }
                What::Extended(_, _, Some(Extended::Extended)) => Some("extended"),
                What::Extended(_, _, Some(Extended::LeaseLost)) => Some("extend refused"),
                What::Cancelled(Some(Cancelled::Cancelled)) => Some("cancelled"),
                What::Cancelled(Some(Cancelled::TooLate)) => Some("late cancel"),
                What::Cancelled(Some(Cancelled::NeverWas)) => Some("cancelled what never was"),
                What::Peeked(peeked) => Some(match &peeked.standing {
                    Standing::Ready => "peeked at the ready",
                    Standing::Delayed { .. } => "peeked at the delayed",
                    Standing::Leased {
                        holder: Some(_), ..
                    } => "holder seen",
                    Standing::Leased { holder: None, .. } => "peeked at the leased",
                }),
                What::Rescheduled(_, Some(Rescheduled::Moved)) => Some("moved"),
                What::Rescheduled(_, Some(Rescheduled::TooLate)) => Some("late reschedule"),
                What::Revived(Some(Revived::Revived)) => Some("revived"),
                What::Revived(Some(Revived::Full)) => Some("revive refused"),
                What::Letter(letter) if letter.reason == DeathReason::Expired => {
                    Some("expired on the last attempt")
                }
                What::Letter(_) => Some("dead letters seen"),
                What::Visited(_) => {
                    visits += 1;
                    Some(if visits > 1 {
                        "turned round"
                    } else {
                        "visited"
                    })
                }
                _ => None,
            });
        }
        expiries(facts, life, goals);
        outdated(facts, life, goals);
    }
}

/// A message that died as outdated, perhaps after it came back; and one that its holder settled
/// when its time to live was over.
fn outdated(
    facts: &Facts<'_>,
    life: super::facts::Life<'_, '_>,
    goals: &mut BTreeSet<&'static str>,
) {
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

/// A repeat of a message that is unique until it is done, before that, and after it in its window.
fn of_unique_messages(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    for push in &facts.pushes {
        let Some(dedup) = push.dedup else {
            continue;
        };
        match push.put {
            Some(Put::Present(first)) => {
                let first = facts.push_of(first);
                if first.is_some_and(|first| first.is_unique()) {
                    goals.insert("duplicate of a unique message");
                }
            }
            Some(Put::Accepted(_)) => {
                let had_it = facts.pushes.iter().any(|first| {
                    first.is_unique()
                        && matches!(first.put, Some(Put::Accepted(_)))
                        && first.dedup.is_some_and(|other| other.key == dedup.key)
                        && first.span.before(&push.span)
                        && push.span.clock < first.window_ends().0
                });
                if had_it {
                    goals.insert("accepted anew when done");
                }
            }
            Some(Put::Full) | None => {}
        }
    }
}

/// A lease that expired, and the message leased again.
fn expiries(
    facts: &Facts<'_>,
    life: super::facts::Life<'_, '_>,
    goals: &mut BTreeSet<&'static str>,
) {
    let mut last: Option<super::facts::Lease<'_>> = None;
    for lease in life.leases() {
        if let Some(last) = last.filter(|last| !life.may_be_settled(last, &lease.span)) {
            goals.insert("lease expired");
            let busy = facts.calls().any(|(done, span)| {
                span.may_be_between(&last.span, &lease.span)
                    && matches!(done.record.call, Call::Lease(..) | Call::Turn(..))
            });
            if busy {
                goals.insert("lease expired under load");
            }
        }
        last = Some(lease);
    }
}

/// A lane that crashed with a live lease.
fn crashes(facts: &Facts<'_>, goals: &mut BTreeSet<&'static str>) {
    for (moment, event) in &facts.case.history.events {
        let Event::Crashed(crashed) = event else {
            continue;
        };
        let held = facts.lives().any(|life| {
            life.leases().any(|lease| {
                let lane = facts
                    .calls()
                    .find(|(done, _)| done.record.id == lease.span.call)
                    .map(|(done, _)| done.record.lane);
                let then = Span {
                    first: moment.order,
                    last: moment.order,
                    clock: moment.at.as_millis(),
                    ..Span::NEVER
                };
                lane == Some(*crashed) && lease.span.before(&then) && life.is_live(&lease, &then)
            })
        });
        if held {
            goals.insert("crash under lease");
        }
    }
}
