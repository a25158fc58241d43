//! Whether two answers are the same, as far as the contract says.

use queue_core::call::{Answer, Call};

use crate::{model, model::Model};

/// Whether the backend's answer is the model's. Cursors are each backend's own, and expired dedup
/// marks are cleared away when the backend likes.
pub(super) fn agree(
    call: &Call,
    answer: &Answer,
    expected: &model::Answer<Answer>,
    model: &Model,
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
            continues(call)
                || page.entries == expected.entries
                    && page.next.is_some() == expected.next.is_some()
        }
        (Answer::Items(page), Answer::Items(expected)) => {
            continues(call)
                || page.entries == expected.entries
                    && page.next.is_some() == expected.next.is_some()
        }
        _ => answer == expected,
    }
}

/// Whether the call goes on from a cursor, which says nothing to the model.
fn continues(call: &Call) -> bool {
    matches!(call, Call::DeadLetters(page) | Call::List(page) if page.after.is_some())
}
