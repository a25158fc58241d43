//! D5, B4 and waiting: a waiter gets its hint in time.
//!
//! These checks run only where nothing else wakes a waiter, and no hint can get lost. The reference
//! model's state after each execution says which hints are due.

use queue_core::{
    Inserted, QueueKind, Timestamp,
    call::{Answer, Call},
};

use super::Found;
use crate::{
    check::{
        facts::{Facts, millis},
        linear::order::{CallStep, Steps},
    },
    engine::End,
    history::{CallId, Event, Record},
    model::Model,
    world::Fault,
};

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let history = facts.case.history;
    let Some(slack) = facts.case.slack.filter(|_| history.has_truth) else {
        return;
    };
    let slack = millis(slack) + lateness(facts);
    let end = end(facts);
    let waits: Vec<RecordedWait<'_>> = history
        .records
        .iter()
        .filter_map(|record| RecordedWait::of(record, end))
        .collect();
    if waits.iter().any(|wait| wait.until > wait.from + slack) {
        for still in stills(facts, end, slack) {
            still.check(facts, &waits, slack, found);
        }
    }
}

/// The most that the network's faults delay a hint, in ms. A waiter with no other timer waits
/// longer, so a lost hint still shows.
const LATENESS: u64 = 150;

fn lateness(facts: &Facts<'_>) -> u64 {
    let mut faults = facts.case.history.events.iter();
    let delayed = Fault::Delayed.as_str();
    if faults.any(|(_, event)| matches!(event, Event::Fault(fault, _) if *fault == delayed)) {
        LATENESS
    } else {
        0
    }
}

/// The end of the run; a run that hangs has none.
fn end(facts: &Facts<'_>) -> u64 {
    if matches!(facts.case.end, End::Hung(_)) {
        return u64::MAX;
    }
    let records = facts.case.history.records.iter();
    let ends = records.map(|record| record.ended.as_ref().map_or(record.began, |ended| ended.at));
    ends.map(|moment| moment.at.as_millis()).max().unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    Arrival,
    Room,
}

#[derive(Debug)]
struct RecordedWait<'a> {
    record: &'a Record,
    occasion: Occasion,
    from: u64,
    until: u64,
}

impl<'a> RecordedWait<'a> {
    fn of(record: &'a Record, end: u64) -> Option<Self> {
        let occasion = match record.call {
            Call::WaitForArrival(_) | Call::WaitToLease(..) | Call::WaitForTurn(_) => {
                Occasion::Arrival
            }
            Call::WaitForRoom(_) => Occasion::Room,
            _ => return None,
        };
        let ended = record.ended.as_ref();
        Some(Self {
            record,
            occasion,
            from: record.began.at.as_millis(),
            until: ended.map_or(end, |ended| ended.at.at.as_millis()),
        })
    }
}

/// A time without executions.
#[derive(Debug)]
struct Still {
    /// The execution before it.
    cause: CallId,
    order: u64,
    from: u64,
    until: u64,
    /// The time from which there is a message to lease, and whether only time brings it.
    ready: Option<(u64, bool)>,
    /// Whether the execution left room. An expired lease makes none until a call reclaims it.
    room: bool,
}

fn stills(facts: &Facts<'_>, end: u64, slack: u64) -> Vec<Still> {
    let calls = &facts.branch.calls;
    let Steps(mut executions) = Steps::of(facts.branch);
    // The call reclaims nothing, so it learns of no expired lease.
    executions.retain(|step| !matches!(calls[step.call].record.call, Call::Capacity));
    let mut model = Model::new(facts.case.config);
    let mut stills = Vec::new();
    for (nth, CallStep { order, at, call }) in executions.iter().enumerate() {
        let record = calls[*call].record;
        let until = executions
            .get(nth + 1)
            .map_or(end, |next| next.at.as_millis());
        let still = until > at.as_millis().saturating_add(slack);
        let notifies = still && hints(&record.call);
        // The caller that sleeps towards a message wakes for it, even if the message's time to live is over by then.
        let before = notifies.then(|| ready_from(&model.lasting(), *at, until));
        let before = before.flatten();
        let answer = model.apply(*at, &record.call);
        if !still {
            continue;
        }
        // A call that puts in a message with a later due time gives a hint only if no other message
        // is due sooner.
        let sooner = |time| notifies && before.is_none_or(|(before, _)| time < before);
        let ready = match answer {
            // An item that becomes due again is no arrival: only a caller that has polled since its last visit knows
            // the time. A due item that a call leaves behind is an arrival.
            Ok(answer) if model.is_paced() => left_due(&model, *at, &answer),
            Ok(answer) if takes(&answer) && !model.is_ready(*at) => due_ahead(&model, *at, until),
            _ => ready_from(&model, *at, until).filter(|(time, by_time)| !by_time || sooner(*time)),
        };
        stills.push(Still {
            cause: record.id,
            order: *order,
            from: at.as_millis(),
            until,
            ready,
            room: model.has_room(),
        });
    }
    stills
}

/// Whether the verb puts messages in, or back, and so gives a hint to waiters.
fn hints(call: &Call) -> bool {
    matches!(
        call,
        Call::Push(_) | Call::Reschedule(..) | Call::Insert(_) | Call::Settle(_) | Call::Revive(..)
    )
}

/// Whether the caller took a message. It may have been the only caller that knew the next due time.
fn takes(answer: &Answer) -> bool {
    match answer {
        Answer::Leased(leased) | Answer::SettledAndLeased(_, leased) => !leased.is_empty(),
        _ => false,
    }
}

/// The next due time of a delayed message: a call that takes a message and leaves this one gives a hint of it. No hint
/// announces the end of a lease.
fn due_ahead(model: &Model, at: Timestamp, until: u64) -> Option<(u64, bool)> {
    let due = model.first_due(at)?;
    (due.as_millis() < until && model.is_ready(due)).then_some((due.as_millis(), true))
}

/// Whether a paced ring has due items right after a call inserted or visited some.
fn left_due(model: &Model, at: Timestamp, answer: &Answer) -> Option<(u64, bool)> {
    let notifies = match answer {
        Answer::Rotated(rotated) => !rotated.items.is_empty(),
        Answer::Inserted(each) => each.iter().any(|one| matches!(one, Inserted::Added(_))),
        _ => false,
    };
    (notifies && model.is_ready(at)).then_some((at.as_millis(), false))
}

/// The time from which there is a message to lease, and whether only time brings it.
fn ready_from(model: &Model, at: Timestamp, until: u64) -> Option<(u64, bool)> {
    if model.is_ready(at) {
        return Some((at.as_millis(), false));
    }
    let mut time = at;
    loop {
        time = model.next_boundary(time)?;
        if time.as_millis() >= until {
            return None;
        }
        if model.is_ready(time) {
            return Some((time.as_millis(), true));
        }
    }
}

impl Still {
    fn check(
        &self,
        facts: &Facts<'_>,
        waits: &[RecordedWait<'_>],
        slack: u64,
        found: &mut Vec<Found>,
    ) {
        for wait in waits {
            let (ready, by_time) = match wait.occasion {
                Occasion::Arrival => match self.ready {
                    Some(ready) => ready,
                    None => continue,
                },
                Occasion::Room if self.room => (self.from, false),
                Occasion::Room => continue,
            };
            // A waiter that came after the hint learnt from its poll how long to wait.
            if by_time && wait.record.began.order > self.order {
                continue;
            }
            let since = Since {
                time: ready.max(wait.from),
                by_time,
                slack,
            };
            let Some(since) = self.unwoken(facts, wait, waits, since) else {
                continue;
            };
            if since.saturating_add(slack) >= self.until.min(wait.until) {
                continue;
            }
            let rule = match (wait.occasion, facts.kind()) {
                (Occasion::Room, _) => "B4",
                (_, QueueKind::Delay) => "D5",
                _ => "waiting",
            };
            let message = format!(
                "there is something to do since {since}, and a waiter got no hint within {slack} \
                 ms"
            );
            let mut broken = Found::at(rule, &[], message);
            broken.at = self.order.max(wait.record.began.order);
            broken.finding.calls = vec![self.cause, wait.record.id];
            found.push(broken);
        }
    }

    /// The time since which no waiter with a hint is on its way; `None` if a waiter is.
    fn unwoken(
        &self,
        facts: &Facts<'_>,
        wait: &RecordedWait<'_>,
        waits: &[RecordedWait<'_>],
        from: Since,
    ) -> Option<u64> {
        let others = waits.iter().filter_map(|other| {
            let same = other.record.id == wait.record.id || other.occasion != wait.occasion;
            // A waiter that was handed a message does not poll.
            let polls = !same && other.record.only_waited();
            let woken = other.record.ended.as_ref().filter(|_| polls)?;
            // A waiter that gets its hint after the next execution is too late to be on its way.
            (woken.at.at.as_millis() <= self.until).then_some((woken.at, other))
        });
        let mut others: Vec<_> = others.collect();
        others.sort_by_key(|(woken, _)| woken.order);
        let mut since = from.time;
        for (woken, other) in others {
            // A waiter that comes this late woke by its own timer, or too late, so none was on its
            // way.
            if woken.at.as_millis() > since.saturating_add(from.slack) {
                break;
            }
            if from.by_time && woken.order > self.order {
                return None;
            }
            since = since.max(acted(facts, other, woken.order)?);
        }
        Some(since)
    }
}

/// The time since which there is work, whether it came without a call, and the time within which a waiter must get its
/// hint.
#[derive(Debug, Clone, Copy)]
struct Since {
    time: u64,
    by_time: bool,
    slack: u64,
}

/// The time at which a waiter acted on its hint: the backend executed its next call that takes, or
/// the waiter gave that call up.
fn acted(facts: &Facts<'_>, wait: &RecordedWait<'_>, woken: u64) -> Option<u64> {
    let records = facts.case.history.records.iter();
    let mut later = records.filter(|record| {
        let takes = match wait.occasion {
            Occasion::Arrival => {
                matches!(
                    record.call,
                    Call::Lease(..) | Call::SettleAndLease(..) | Call::Rotate(_)
                )
            }
            Occasion::Room => matches!(record.call, Call::Push(_)),
        };
        takes && record.process == wait.record.process && record.began.order > woken
    });
    let next = later.next()?;
    let executed = next.executed.first();
    let moment = executed
        .copied()
        .or(next.ended.as_ref().map(|ended| ended.at))?;
    Some(moment.at.as_millis())
}
