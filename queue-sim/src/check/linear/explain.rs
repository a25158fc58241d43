//! Which rule an answer breaks that is not the model's.

use queue_core::{
    Counters, Delivery, Depth, Extended, Leased, MessageId, Offered, Pushed, QueueKind, Revived,
    Settled,
};

use super::replay::Deviation;
use crate::{
    call::{Answer, Call},
    check::{
        facts::{Facts, Put},
        span::Span,
    },
};

/// The rule, and what is wrong in a sentence.
pub(super) fn explain(facts: &Facts<'_>, deviation: &Deviation) -> (&'static str, String) {
    let done = &facts.branch.calls[deviation.call];
    let call = &done.record.call;
    let Some(answer) = done.answer else {
        return ("linearisable", "a call that nobody saw answered".to_owned());
    };
    let rule = match &deviation.expected {
        Ok(expected) => rule(facts, &facts.spans[deviation.call], call, answer, expected),
        Err(_) => "limits",
    };
    let expected = match &deviation.expected {
        Ok(expected) => format!("{expected:?}"),
        Err(kind) => format!("the error {kind:?}"),
    };
    let message = format!("{call:?} must answer {expected}, and answered {answer:?}");
    (rule, message)
}

fn rule(
    facts: &Facts<'_>,
    span: &Span,
    call: &Call,
    answer: &Answer,
    expected: &Answer,
) -> &'static str {
    match (answer, expected) {
        (Answer::Leased(answer), Answer::Leased(expected)) => leased(facts, span, answer, expected),
        (Answer::Turned(settled, answer), Answer::Turned(expected_settled, expected)) => {
            if settled == expected_settled {
                leased(facts, span, answer, expected)
            } else {
                settled_rule(settled, expected_settled)
            }
        }
        (Answer::Settled(answer), Answer::Settled(expected)) => settled_rule(answer, expected),
        (Answer::Extended(answer), Answer::Extended(expected)) => {
            let mut pairs = answer.iter().zip(expected);
            match pairs.find(|(answer, expected)| answer != expected) {
                Some((Extended::LeaseLost, Extended::Extended)) => "L10",
                _ => "L4",
            }
        }
        (Answer::Pushed(answer), Answer::Pushed(expected)) => {
            let repeats = |pushed: &[Pushed]| -> Vec<bool> {
                pushed.iter().map(|pushed| pushed.is_duplicate()).collect()
            };
            if repeats(answer) == repeats(expected) {
                "L5"
            } else {
                "L9"
            }
        }
        (Answer::Offered(answer), Answer::Offered(expected)) => {
            let mut pairs = answer.iter().zip(expected);
            match pairs.find(|(answer, expected)| answer != expected) {
                Some((answer, expected)) => offered(answer, expected),
                None => "B3",
            }
        }
        (Answer::Revived(answer), Answer::Revived(expected)) => {
            let full = |revived: &[Revived]| revived.contains(&Revived::Full);
            if full(answer) == full(expected) {
                "L13"
            } else {
                "B1"
            }
        }
        (Answer::Depth(answer), Answer::Depth(expected)) => depth(facts, answer, expected),
        (Answer::Counters(answer), Answer::Counters(expected)) => counters(answer, expected),
        (Answer::Messages(_), _) => "B6",
        (Answer::Capacity(_) | Answer::Ids(_), _) => "B5",
        (Answer::Cancelled(_) | Answer::Rescheduled(_), _) => "D4",
        (Answer::Next(_), _) => "D5",
        (Answer::Inserted(_) | Answer::Items(_), _) => "T2",
        (Answer::Rotated(answer), Answer::Rotated(expected)) => {
            let sorted = |items: &[queue_core::Message]| {
                let mut ids: Vec<MessageId> = items.iter().map(|item| item.id).collect();
                ids.sort_unstable();
                ids
            };
            if answer.items == expected.items {
                "waiting"
            } else if sorted(&answer.items) == sorted(&expected.items) || !paced(facts) {
                "T3"
            } else {
                "T4"
            }
        }
        (Answer::DeadLetters(_), _) => "L13",
        (Answer::Count(_), _) => match call {
            Call::Discard(_) => "L13",
            Call::Purge(_) => "operators",
            _ => "T2",
        },
        _ => "linearisable",
    }
}

fn paced(facts: &Facts<'_>) -> bool {
    matches!(facts.case.config, crate::call::Config::Rotating(config) if config.pace.is_some())
}

fn settled_rule(answer: &[Settled], expected: &[Settled]) -> &'static str {
    let mut pairs = answer.iter().zip(expected);
    match pairs.find(|(answer, expected)| answer != expected) {
        Some((Settled::Dead, Settled::Done) | (Settled::Done, Settled::Dead)) => "L6",
        _ => "L4",
    }
}

fn offered(answer: &Offered, expected: &Offered) -> &'static str {
    match (answer, expected) {
        (Offered::Duplicate(_), _) | (_, Offered::Duplicate(_)) => "L9",
        (Offered::Replaced { .. }, _) | (_, Offered::Replaced { .. }) => "B7",
        (Offered::Accepted { evicted: None, .. }, Offered::Full) => "B1",
        (Offered::Full, Offered::Accepted { evicted: None, .. }) => "B3",
        (
            Offered::Accepted { evicted, .. },
            Offered::Accepted {
                evicted: expected, ..
            },
        ) if evicted == expected => "L5",
        (Offered::Accepted { evicted: None, .. }, _) => "B1",
        _ => "B2",
    }
}

fn depth(facts: &Facts<'_>, answer: &Depth, expected: &Depth) -> &'static str {
    if facts.kind() == QueueKind::Bounded && answer.occupied() > expected.occupied() {
        "B1"
    } else if answer.dead != expected.dead {
        "L13"
    } else {
        "L5"
    }
}

fn counters(answer: &Counters, expected: &Counters) -> &'static str {
    let mut same = *answer;
    same.oldest_ready = expected.oldest_ready;
    same.paused = expected.paused;
    same.dedup_marks = expected.dedup_marks;
    if same == *expected {
        return if answer.dedup_marks == expected.dedup_marks {
            "operators"
        } else {
            "L9"
        };
    }
    "L5"
}

fn leased(facts: &Facts<'_>, span: &Span, answer: &Leased, expected: &Leased) -> &'static str {
    let pairs = answer.deliveries.iter().zip(&expected.deliveries);
    for (one, other) in pairs {
        if one != other {
            return delivery(facts, span, one, other);
        }
    }
    let (count, enough) = (answer.deliveries.len(), expected.deliveries.len());
    if count > enough {
        too_many(facts, &answer.deliveries[enough], expected)
    } else if count < enough {
        too_few(facts, &expected.deliveries[count])
    } else {
        "waiting"
    }
}

fn delivery(facts: &Facts<'_>, span: &Span, one: &Delivery, other: &Delivery) -> &'static str {
    if one.id() != other.id() {
        return order(facts, span, one, other);
    }
    if one.body != other.body || one.headers != other.headers {
        "L5"
    } else if one.receipt.token != other.receipt.token {
        "L4"
    } else if one.attempt != other.attempt {
        "L6"
    } else {
        "L10"
    }
}

/// One was delivered where the other should have been.
fn order(facts: &Facts<'_>, span: &Span, one: &Delivery, other: &Delivery) -> &'static str {
    let came_back = |delivery: &Delivery| {
        let mut leases = facts.life(delivery.id()).leases();
        delivery.attempt > 1 || leases.any(|lease| lease.span.before(span))
    };
    let pushes = (facts.push_of(one.id()), facts.push_of(other.id()));
    match facts.kind() {
        QueueKind::Delay => "D2",
        QueueKind::Priority => match pushes {
            _ if aged(facts) => "P4",
            (Some(lower), Some(higher)) if lower.priority < higher.priority => {
                if came_back(one) || came_back(other) {
                    "P3"
                } else {
                    "P1"
                }
            }
            _ if came_back(one) || came_back(other) => "L11",
            _ => "P2",
        },
        _ if came_back(one) || came_back(other) => "L11",
        _ => match pushes {
            (Some(one), Some(other)) if one.span.call == other.span.call => "F2",
            _ => "F1",
        },
    }
}

fn aged(facts: &Facts<'_>) -> bool {
    matches!(facts.case.config, crate::call::Config::Priority(config) if config.ageing.is_some())
}

/// A message was delivered that nothing should have been.
fn too_many(facts: &Facts<'_>, delivery: &Delivery, expected: &Leased) -> &'static str {
    let pushed = facts.pushes.iter().any(|push| match push.put {
        Some(Put::Accepted(id)) => id == delivery.id(),
        put => put.is_none() && push.body == &delivery.body,
    });
    // Only a queue that is paused, or empty, says nothing of when there will be something.
    let silent = expected.deliveries.is_empty() && expected.next.is_none();
    if !pushed {
        "L5"
    } else if facts.kind() == QueueKind::Delay && !silent {
        "D1"
    } else if delivery.attempt > 1 {
        "L2"
    } else {
        "operators"
    }
}

/// A message was left behind that should have been delivered.
fn too_few(facts: &Facts<'_>, delivery: &Delivery) -> &'static str {
    if delivery.attempt > 1 {
        "L7"
    } else if facts.kind() == QueueKind::Delay {
        "D5"
    } else {
        "L5"
    }
}
