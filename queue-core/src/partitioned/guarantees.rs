//! What a queue of several parts keeps of the contract.

use crate::{Feature, Guarantees, QueueKind, When};

const LINE: &str = "each part has a line of its own; messages of one partition key share a part";
const BATCH: &str = "messages of one batch that have keys go to the parts of their keys";
const RETURNED: &str = "what returns goes to the head or the tail of its own part's line";
const TOKENS: &str = "each part counts its own tokens: two messages may have equal ones";
const MARKS: &str =
    "a mark is in one part: a repeat carries the same partition key and distinct key";
const STEPS: &str = "each part takes back, promotes and ends 128 in a call";
const LETTERS: &str =
    "each part lists its own dead letters in order, and keeps as many as the cap says";
const SHOWN: &str = "a peek shows one part after another, each in order";
const DUE: &str = "each part hands out what is due in order";
const URGENT: &str = "each part hands out its most urgent first, and consumers go round the parts";
const ROOM: &str = "each part has its share of the capacity, which its own messages take up";
const DROPPED: &str = "each part drops its own oldest, when it is full itself";
const TOLD: &str =
    "a producer with a key may be told of another part's room: it learns of its own by its timer";
const NEWEST: &str = "the newest of each part, in turn";

/// The guarantees of a backend's queue, divided into parts.
pub(super) fn divided(whole: Guarantees) -> Guarantees {
    let kind = whole.kind;
    let mut parts = whole
        .without(Feature::Whole)
        .without(Feature::Ids)
        .without(Feature::Sizes);
    parts.name = "a queue of several parts";
    let own: &[(&'static str, &'static str)] = match kind {
        QueueKind::Reliable => &[("F1", LINE), ("F2", BATCH), ("L11", RETURNED)],
        QueueKind::Delay => &[("D2", DUE)],
        QueueKind::Priority => &[
            ("P1", URGENT),
            ("P2", LINE),
            ("P3", URGENT),
            ("P4", URGENT),
            ("L11", RETURNED),
        ],
        QueueKind::Bounded => &[
            ("F1", LINE),
            ("F2", BATCH),
            ("L11", RETURNED),
            ("B2", DROPPED),
            ("B3", ROOM),
            ("B4", TOLD),
            ("B5", DROPPED),
            ("B6", NEWEST),
        ],
        // A ring is one: it is not divided.
        QueueKind::Rotating => return parts.only_calls([]),
    };
    let of_every_kind = [
        ("L4", TOKENS),
        ("L7", STEPS),
        ("L9", MARKS),
        ("L13", LETTERS),
        ("L16", SHOWN),
        ("L17", STEPS),
    ];
    for (rule, because) in own.iter().chain(&of_every_kind) {
        parts = parts.weaker(rule, When::Parts, because);
    }
    parts
}
