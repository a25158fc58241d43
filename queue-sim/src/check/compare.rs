//! Compares two answers as far as the contract determines them.

use std::time::Duration;

use crate::{
    model,
    model::{Model, UNDETERMINED},
};
use queue_core::{
    MessageId, Rotated,
    call::{Answer, Call},
};

/// Whether the backend's answer to a call equals the model's. Five things may differ. Each backend has its own cursors. A backend
/// clears expired dedup marks away when it likes. A page of a peek goes on in an order that has changed. A rotation may
/// leave out items that are `gone` by the time that it returns. A message that was handed over may be called the last
/// attempt by an earlier configuration.
pub(super) fn agree(
    call: &Call,
    answer: &Answer,
    expected: &model::ModelResult<Answer>,
    model: &Model,
    gone: &[MessageId],
) -> bool {
    let Ok(expected) = expected else {
        return false;
    };
    match (answer, expected) {
        (Answer::Counters(counters), Answer::Counters(expected)) => {
            let marks = expected.dedup_marks..=model.marks_ever();
            let mut counters = **counters;
            let known = marks.contains(&counters.dedup_marks);
            counters.dedup_marks = expected.dedup_marks;
            known && counters == **expected
        }
        (Answer::DeadLetters(page), Answer::DeadLetters(expected)) => {
            page.entries == expected.entries && page.next.is_some() == expected.next.is_some()
        }
        (Answer::Items(page), Answer::Items(expected)) => {
            page.entries == expected.entries && page.next.is_some() == expected.next.is_some()
        }
        (Answer::Peeked(page), Answer::Peeked(expected)) => {
            expected.next == Some(UNDETERMINED)
                || page.entries == expected.entries
                    && page.next.is_some() == expected.next.is_some()
        }
        (Answer::Groups(page), Answer::Groups(expected)) => {
            // Groups move between pages, so the model knows the first page only.
            expected.entries.is_empty() && expected.next.is_some()
                || page.entries == expected.entries
                    && page.next.is_some() == expected.next.is_some()
        }
        (Answer::Rotated(rotated), Answer::Rotated(expected)) => {
            rotated == expected || leaves_out(rotated, expected, gone)
        }
        (Answer::Leased(leased), Answer::Leased(expected))
            if matches!(call, Call::WaitToLease(..)) =>
        {
            let mut leased = leased.clone();
            for (delivery, expected) in leased.deliveries.iter_mut().zip(&expected.deliveries) {
                delivery.last_attempt = expected.last_attempt;
            }
            leased == *expected
        }
        _ => answer == expected,
    }
}

/// Whether a rotation leaves out some of these items, and nothing else differs. If it leaves out all, it cannot know
/// when the next item is due, and has its caller poll again.
fn leaves_out(rotated: &Rotated, expected: &Rotated, gone: &[MessageId]) -> bool {
    let mut items = rotated.items.iter().peekable();
    let others = expected.items.iter();
    let mut others = others.filter(|other| items.next_if_eq(other).is_none());
    let next = rotated.items.is_empty().then_some(Duration::ZERO);
    rotated.items.len() < expected.items.len()
        && others.all(|other| gone.contains(&other.id))
        && items.next().is_none()
        && rotated.next == next
}
