//! What a queue of several parts keeps of the contract.

use crate::{Feature, Guarantees, QueueKind, When};

const LINE: &str = "each part has a line of its own; messages of one partition key share a part";
const BATCH: &str = "messages of one batch that have keys go to the parts of their keys";
const RETURNED: &str = "what returns goes to the head or the tail of its own part";
const DUE: &str = "each part hands out what is due in its own order";
const URGENT: &str = "each part hands out its most urgent first, and consumers go round the parts";
const ROOM: &str = "each part has its share of the capacity, and drops its own oldest";
const WAITS: &str =
    "a producer with a key may be told of another part's room, and looks again on its timer";
const NEWEST: &str = "recent takes the newest of each part in turn";

/// The guarantees of a backend's queue, divided into parts.
pub(super) fn divided(whole: Guarantees) -> Guarantees {
    let kind = whole.kind;
    let mut parts = whole
        .without(Feature::Whole)
        .without(Feature::Ids)
        .without(Feature::Sizes);
    parts.name = "a queue of several parts";
    let weaker: &[(&'static str, &'static str)] = match kind {
        QueueKind::Reliable => &[("F1", LINE), ("F2", BATCH), ("L11", RETURNED)],
        QueueKind::Delay => &[("D2", DUE)],
        QueueKind::Priority => &[
            ("P1", URGENT),
            ("P2", LINE),
            ("P4", URGENT),
            ("L11", RETURNED),
        ],
        QueueKind::Bounded => &[
            ("F1", LINE),
            ("L11", RETURNED),
            ("B2", ROOM),
            ("B3", ROOM),
            ("B4", WAITS),
            ("B5", ROOM),
            ("B6", NEWEST),
        ],
        // A ring is one: it is not divided.
        QueueKind::Rotating => return parts.only_calls([]),
    };
    for (rule, because) in weaker {
        parts = parts.weaker(rule, When::Alone, because);
    }
    parts
}
