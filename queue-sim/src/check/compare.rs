//! Compares two answers as far as the contract determines them.

use crate::{
    model,
    model::{Model, UNDETERMINED},
};
use queue_core::call::Answer;

/// Whether the backend's answer is the model's. Three things may differ: each backend has its own
/// cursors, a backend clears expired dedup marks away when it likes, and a page of a peek goes on in a
/// line that has changed.
pub(super) fn agree(answer: &Answer, expected: &model::Answer<Answer>, model: &Model) -> bool {
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
        _ => answer == expected,
    }
}
