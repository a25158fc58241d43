//! F1, F2, D2, P1, P2, P4, G2, L11: the delivery order; L16: a peek shows the ready messages in it.

use queue_core::{
    Disposition, Due, MessageId, Place, QueueConfig, QueueKind, Settled,
    call::{Answer, Call},
};

use super::Found;
use crate::check::{
    facts::{Facts, Lease, MessageLife, What, millis},
    span::Span,
};

/// A message that is ready all the time between two moments, and its place in its order.
#[derive(Debug, Clone, Copy)]
struct Ready {
    id: u64,
    /// On a delay queue, the span of the due time; otherwise, the span in which it became ready.
    since: Span,
    until: Span,
    rank: Rank,
    /// The earliest possible due time of a message that was delayed at first. At that time it joined its line, behind
    /// the ready messages.
    due: Option<u64>,
    /// Whether the message is back from a release; otherwise it was never leased before.
    returned: bool,
    /// Whether the time at which it became ready is known. A delivered message was ready at its delivery in any case.
    may_be_first: bool,
}

impl Ready {
    /// Whether the message surely joined its line before `other`.
    fn joined_before(&self, other: &Self) -> bool {
        match (self.due, other.due) {
            (None, None) => self.since.before(&other.since),
            (None, Some(due)) => self.since.clock < due,
            (Some(_), _) => false,
        }
    }
}

/// The least and the greatest possible rank; a smaller rank goes first.
#[derive(Debug, Clone, Copy)]
struct Rank {
    least: i64,
    most: i64,
}

pub(super) fn check(facts: &Facts<'_>, found: &mut Vec<Found>) {
    let mut ready = Vec::new();
    for life in facts.lives() {
        ready.extend(fresh(facts, life));
        back(facts, life, &mut ready);
    }
    for first in ready.iter().filter(|ready| ready.may_be_first) {
        for second in &ready {
            // The first was ready when the second was delivered, and was delivered later.
            if first.since.before(&second.until)
                && second.until.before(&first.until)
                && let Some(rule) = goes_before(facts, first, second)
            {
                let message = format!(
                    "message {} is delivered at {} before message {}, which was ready and goes \
                         first",
                    second.id, second.until.latest, first.id
                );
                let spans = [&first.since, &second.since, &second.until, &first.until];
                found.push(Found::at(rule, &spans, message));
            }
        }
    }
    peeked(facts, found);
}

/// A peek shows the ready messages in delivery order, as far as that order is known.
fn peeked(facts: &Facts<'_>, found: &mut Vec<Found>) {
    for (done, span) in facts.calls() {
        let (Call::Peek(Place::Ready, _), Some(Answer::Peeked(page))) =
            (&done.record.call, done.answer)
        else {
            continue;
        };
        if facts.ghosts_before(&span) > 0 {
            continue;
        }
        let known = page.entries.iter().filter_map(|peeked| {
            let life = facts.life(peeked.message.id);
            let leased = life.leases().any(|lease| lease.span.may_precede(&span));
            (!leased).then(|| pushed(facts, life, span)).flatten()
        });
        let known: Vec<Ready> = known.collect();
        for pair in known.windows(2) {
            if goes_before(facts, &pair[1], &pair[0]).is_some() {
                let message = format!(
                    "message {} is shown before message {}, which goes first",
                    pair[0].id, pair[1].id
                );
                let spans = [&pair[0].since, &pair[1].since, &span];
                found.push(Found::at("L16", &spans, message));
            }
        }
    }
}

fn ageing(facts: &Facts<'_>) -> Option<i64> {
    match facts.case.config {
        QueueConfig::Priority(config) => config.ageing.map(|step| millis(step) as i64),
        _ => None,
    }
}

/// Its first delivery, if no earlier delivery is possible, and its rank is known.
fn fresh(facts: &Facts<'_>, life: MessageLife<'_, '_>) -> Option<Ready> {
    pushed(facts, life, life.first_lease()?.span)
}

/// A message that nobody has taken since its push, if its rank is known.
fn pushed(facts: &Facts<'_>, life: MessageLife<'_, '_>, until: Span) -> Option<Ready> {
    let push = &facts.pushes[life.push()?];
    // Without the backend's own times, a time on its clock and a time on ours cannot be compared.
    if matches!(push.due, Some(Due::At(_))) && !facts.case.history.has_truth {
        return None;
    }
    let disturbed = life
        .iter()
        .any(|happened| matches!(happened.what, What::Revived(_)) || happened.what.may_move());
    if disturbed || facts.may_have_been_out(push, &until) {
        return None;
    }
    let due_of = facts.due_of(push);
    let due = match facts.kind() {
        QueueKind::Delay => None,
        _ => facts.is_delayed(push)?.then_some(due_of),
    };
    let priority = i64::from(push.priority);
    let rank = match (facts.kind(), ageing(facts)) {
        (QueueKind::Delay, _) => Rank {
            least: due_of.0 as i64,
            most: due_of.1.min(i64::MAX as u64) as i64,
        },
        (_, Some(step)) => {
            let (earliest, latest) = due.unwrap_or((push.span.earliest, push.span.latest));
            Rank {
                least: earliest as i64 - priority * step,
                most: latest.min(i64::MAX as u64 / 2) as i64 - priority * step,
            }
        }
        _ => Rank {
            least: -priority,
            most: -priority,
        },
    };
    Some(Ready {
        id: life.id().get(),
        since: push.span,
        until,
        rank,
        due: due.map(|(earliest, _)| earliest),
        returned: false,
        may_be_first: due.is_none(),
    })
}

/// Its deliveries after a release or, if urgency grows with age, after a retry. No other lease may
/// have come between, and no revival: a released message can die as outdated.
fn back(facts: &Facts<'_>, life: MessageLife<'_, '_>, ready: &mut Vec<Ready>) {
    let Some(push) = life.push() else {
        return;
    };
    let priority = i64::from(facts.pushes[push].priority);
    for happened in life.iter() {
        let What::Settled(_, disposition, Some(Settled::Done)) = happened.what else {
            continue;
        };
        let since = happened.span;
        let rank = match (disposition, ageing(facts)) {
            (Disposition::Release, None) if facts.kind() != QueueKind::Delay => Rank {
                least: -priority,
                most: -priority,
            },
            // The message arrived again at its new due time.
            (Disposition::Retry { delay, .. }, Some(step)) => {
                let arrived = |at: u64| at.saturating_add(millis(*delay)).min(i64::MAX as u64 / 2);
                Rank {
                    least: arrived(since.earliest) as i64 - priority * step,
                    most: arrived(since.latest) as i64 - priority * step,
                }
            }
            _ => continue,
        };
        let mut later = life.leases().filter(|lease| !lease.span.before(&since));
        let Some(Lease { span: until, .. }) = later.next() else {
            continue;
        };
        let mut ghosts = facts.ghosts.iter();
        let unseen = ghosts.any(|ghost| ghost.may_be_between(&since, &until));
        let moved = life.may_be_moved(&since, &until) || life.may_be_revived(&since, &until);
        if since.before(&until) && !unseen && !moved {
            let released = *disposition == Disposition::Release;
            ready.push(Ready {
                id: life.id().get(),
                since,
                until,
                rank,
                due: None,
                returned: released,
                may_be_first: released,
            });
        }
    }
}

/// The rule by which the first surely goes before the second, if both are ready.
fn goes_before(facts: &Facts<'_>, first: &Ready, second: &Ready) -> Option<&'static str> {
    let group = |ready: &Ready| {
        facts
            .push_of(MessageId::new(ready.id))
            .and_then(|push| push.group)
    };
    if group(first) != group(second) {
        return None;
    }
    let sooner = first.rank.most < second.rank.least;
    let level = first.rank.most == second.rank.least && first.rank.least == second.rank.most;
    // Only a backend that reports its executions gives ids by arrival.
    let by_id = match facts.case.history.has_truth {
        true => first.id < second.id,
        false => first.since.before(&second.since),
    };
    let by_id = level && by_id;
    match facts.kind() {
        QueueKind::Delay => (sooner || by_id).then_some("D2"),
        QueueKind::Priority if ageing(facts).is_some() => (sooner || by_id).then_some("P4"),
        _ if sooner => Some(if first.returned { "P3" } else { "P1" }),
        _ if !level => None,
        _ => match (first.returned, second.returned) {
            (true, true) => (facts.case.history.has_truth && first.id < second.id).then_some("L11"),
            (true, false) => Some("L11"),
            (false, true) => None,
            (false, false) if !first.joined_before(second) => None,
            (false, false) if second.due.is_some() => Some("L11"),
            _ if facts.kind() == QueueKind::Priority => Some("P2"),
            _ if facts.kind() == QueueKind::Grouped => Some("G2"),
            _ if first.since.call == second.since.call => Some("F2"),
            _ => Some("F1"),
        },
    }
}
