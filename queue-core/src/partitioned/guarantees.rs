//! The rules that a queue of several partitions keeps.

use crate::{Condition, Feature, Guarantees, QueueKind};

const LINE: &str =
    "each partition is a queue of its own; messages of one partition key share a partition";
const BATCH: &str = "messages of one batch that have keys go to the partitions of their keys";
const RETURNED: &str = "a returned message goes to the head or the tail of its own partition";
const TOKENS: &str = "each partition counts its own tokens: two messages may have equal ones";
const MARKS: &str =
    "a mark is in one partition: a repeat carries the same partition key and distinct key";
const STEPS: &str = "each partition reclaims, promotes and ends 128 messages in a call";
const LETTERS: &str =
    "each partition lists its own dead letters in order, and keeps as many as the cap says";
const SHOWN: &str = "a peek shows one partition after another, each in order";
const DUE: &str = "each partition hands out its due messages in order";
const URGENT: &str =
    "each partition hands out its most urgent first, and consumers go round the partitions";
const TURNS: &str = "the groups of one partition take turns, and consumers go round the partitions";
const ROOM: &str = "each partition has its share of the capacity, which its own messages take up";
const DROPPED: &str = "each partition drops its own oldest, when it is full itself";
const NOTIFIED: &str = "a producer with a key may be notified of another partition's room: it polls its own by its timer";
const NEWEST: &str = "the newest of each partition, in turn";

/// The guarantees of a backend's queue, divided into partitions.
pub(super) fn divided(whole: Guarantees) -> Guarantees {
    let kind = whole.kind;
    let mut partitions = whole
        .without(Feature::Whole)
        .without(Feature::Ids)
        .without(Feature::Sizes);
    partitions.name = "a queue of several partitions";
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
        QueueKind::Grouped => &[("G3", TURNS)],
        QueueKind::Bounded => &[
            ("F1", LINE),
            ("F2", BATCH),
            ("L11", RETURNED),
            ("B2", DROPPED),
            ("B3", ROOM),
            ("B4", NOTIFIED),
            ("B5", DROPPED),
            ("B6", NEWEST),
        ],
        // A ring is not divided into partitions.
        QueueKind::Rotating => return partitions.only_calls([]),
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
        partitions = partitions.caveat(rule, Condition::Partitions, because);
    }
    partitions
}
