//! The parts that the declarations of several strategies have in common.

use queue_core::{Condition, Feature, Guarantees, QueueKind};

/// Why the order breaks if a handle pops while somebody waits.
pub(crate) const POPPED_AHEAD: &str = "what a blocked pop got waits for the handle's next take";

/// A strategy whose messages are taken and settled: receipts belong to a handle, nothing expires, and attempts are not
/// counted.
pub(crate) fn leasing(name: &'static str, kind: QueueKind) -> Guarantees {
    const CALLS: [&str; 10] = [
        "push",
        "lease",
        "settle",
        "settle_and_lease",
        "extend",
        "wait_for_arrival",
        "wait_to_lease",
        "depth",
        "dead_letters",
        "resume",
    ];
    plain(Guarantees::all(name, kind).only_calls(CALLS))
        .without(Feature::Expiry)
        .without(Feature::SharedReceipts)
        .caveat(
            "L4",
            Condition::NoFaults,
            "receipts belong to a handle, and nothing expires",
        )
        .caveat(
            "L10",
            Condition::NoFaults,
            "extending answers success and sets no deadline",
        )
        .caveat(
            "L13",
            Condition::NoFaults,
            "the dead letters keep neither reason nor time, and have no cap",
        )
        .caveat(
            "L14",
            Condition::Absent,
            "it has no place for a retry's reason",
        )
}

/// [`leasing`] without a count of attempts.
pub(crate) fn uncounted(name: &'static str, kind: QueueKind) -> Guarantees {
    leasing(name, kind).caveat("L6", Condition::NoFaults, "nobody counts attempts")
}

/// [`uncounted`], of a strategy that takes a message by removing it.
pub(crate) fn at_most_once(name: &'static str, kind: QueueKind) -> Guarantees {
    const UNHEARD: &str = "a message whose reply nobody hears is lost";
    let caveat = uncounted(name, kind).caveat(
        "L5",
        Condition::NoFaults,
        "what a consumer holds is nowhere else",
    );
    // If the server runs a pop after its caller has given up, its reply is lost as well.
    let faults = ["cut", "reply lost", "late", "partition"];
    faults.into_iter().fold(caveat, |caveat, fault| {
        caveat.caveat("L8", Condition::Fault(fault), UNHEARD)
    })
}

/// A strategy of fixed length, which drops the oldest message. Messages are read, never taken.
pub(crate) fn fixed_length(name: &'static str) -> Guarantees {
    const UNTOLD: &str = "nobody is told what was dropped";
    let all = Guarantees::all(name, QueueKind::Bounded);
    plain(all.only_calls(["push", "recent", "capacity", "depth"]))
        .without(Feature::Reject)
        .caveat("B2", Condition::NoFaults, UNTOLD)
        .caveat("L5", Condition::NoFaults, UNTOLD)
        .caveat(
            "B5",
            Condition::Absent,
            "it has no resize: after a smaller length it never shrinks",
        )
}

/// A strategy with bodies alone, replies of any size, ids that are hashes of names, and no stored data but the
/// messages.
pub(crate) fn plain(guarantees: Guarantees) -> Guarantees {
    let plain = guarantees
        .without(Feature::Headers)
        .without(Feature::Dedup)
        .without(Feature::Unique)
        .without(Feature::TimeToLive)
        .without(Feature::Keys)
        .without(Feature::Limits)
        .without(Feature::Results)
        .without(Feature::Progress)
        .without(Feature::State)
        .without(Feature::Sizes)
        .without(Feature::Ids)
        .without(Feature::Stored);
    match plain.kind {
        // Each delayed message has a due time.
        QueueKind::Delay => plain,
        _ => plain.without(Feature::Due),
    }
}
