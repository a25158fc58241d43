use queue_core::QueueKind;

use super::Verb;

macro_rules! goals {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $text;)*
    };
}

goals! {
    CRASH_WITH_LEASES = "a crash with leases",
    MADE_AGAIN = "a call of unknown outcome made again",
    WORTHWHILE_WAIT = "a wait that was worth it",
    LEASE_LOST = "a settlement whose lease was lost",
    SECOND_PAGE = "a second page of dead letters",
    DUPLICATE = "a duplicate",
    CANCELLATION = "a cancellation",
    LATE_CANCELLATION = "a cancellation that was too late",
    VAIN_CANCELLATION = "a cancellation of what never was",
    RESCHEDULING = "a rescheduling",
    EVICTION = "an eviction",
    REPLACEMENT = "a replacement",
    FULL = "a full queue",
    WORTHWHILE_WAIT_FOR_ROOM = "a wait for room that was worth it",
    RESIZE_THAT_DROPS = "a resize that dropped messages",
    PRESENT = "an item that was there",
    REMOVAL = "a removal",
    SECOND_PAGE_OF_PEEK = "a second page of a peek",
    STOPPED = "a job stopped by the receipt that a peek showed",
    SECOND_PAGE_OF_RING = "a second page of the ring",
    OPENED_OR_RESIZED = "an open that changes the capacity",
    BEYOND_ONE_BATCH = "more put in at once than a batch has",
    FULL_HANDFUL = "as many taken at once as a call may",
    BEYOND_ONE_CALLS_BYTES = "more bytes put in at once than a call carries",
    ABANDONED_WAIT = "a wait that was given up",
    LATE_WORKER = "a look after a lease was over",
    PUT_OFF = "messages put off one behind the other",
}

/// The goals that lanes must reach on this kind of queue, in runs with faults: every verb, and its
/// possible results. The names are those of [`Played::goals`](crate::run::Played::goals).
pub fn goals(kind: QueueKind) -> Vec<&'static str> {
    let verbs = Verb::ALL.iter().copied();
    let verbs = verbs.filter(|verb| *verb != Verb::Idle && verb.is_of(kind));
    let mut goals: Vec<&str> = verbs.map(Verb::as_str).collect();
    goals.extend([MADE_AGAIN, ABANDONED_WAIT]);
    if kind == QueueKind::Rotating {
        goals.extend([PRESENT, REMOVAL, SECOND_PAGE_OF_RING]);
        return goals;
    }
    goals.extend([
        CRASH_WITH_LEASES,
        WORTHWHILE_WAIT,
        LEASE_LOST,
        SECOND_PAGE,
        DUPLICATE,
        LATE_WORKER,
        PUT_OFF,
        CANCELLATION,
        LATE_CANCELLATION,
        VAIN_CANCELLATION,
        SECOND_PAGE_OF_PEEK,
        STOPPED,
    ]);
    match kind {
        QueueKind::Delay => goals.push(RESCHEDULING),
        QueueKind::Bounded => goals.extend([
            EVICTION,
            REPLACEMENT,
            FULL,
            WORTHWHILE_WAIT_FOR_ROOM,
            RESIZE_THAT_DROPS,
            OPENED_OR_RESIZED,
        ]),
        _ => {}
    }
    goals
}
