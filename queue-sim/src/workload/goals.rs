use queue_core::QueueKind;

use super::{Size, Verb};

macro_rules! goals {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $text;)*
    };
}

goals! {
    MADE_AGAIN = "a call of unknown outcome made again",
    WORTHWHILE_WAIT = "a wait that was worth it",
    SECOND_PAGE = "a second page of dead letters",
    WORTHWHILE_WAIT_FOR_ROOM = "a wait for room that was worth it",
    SECOND_PAGE_OF_PEEK = "a second page of a peek",
    STOPPED = "a job stopped by the receipt that a peek showed",
    SECOND_PAGE_OF_RING = "a second page of the ring",
    BEYOND_ONE_BATCH = "more put in at once than a batch has",
    FULL_HANDFUL = "as many taken at once as a call may",
    BEYOND_ONE_CALLS_BYTES = "more bytes put in at once than a call carries",
    ABANDONED_WAIT = "a wait that was given up",
    LATE_WORKER = "a poll after a lease was over",
    PUT_OFF = "messages put off one behind the other",
}

/// The goals that processes must reach on this kind of queue, in runs with faults: every verb, and the events that no
/// history shows. [`Played::goals`](super::Played::goals) has the names.
pub fn goals(kind: QueueKind) -> Vec<&'static str> {
    let verbs = Verb::ALL.iter().copied();
    let verbs = verbs.filter(|verb| *verb != Verb::Idle && verb.is_of(kind));
    let mut goals: Vec<&str> = verbs.map(Verb::as_str).collect();
    goals.extend([MADE_AGAIN, ABANDONED_WAIT]);
    if kind == QueueKind::Rotating {
        goals.push(SECOND_PAGE_OF_RING);
        return goals;
    }
    goals.extend([
        WORTHWHILE_WAIT,
        SECOND_PAGE,
        LATE_WORKER,
        PUT_OFF,
        SECOND_PAGE_OF_PEEK,
        STOPPED,
    ]);
    if kind == QueueKind::Bounded {
        goals.push(WORTHWHILE_WAIT_FOR_ROOM);
    }
    goals
}

impl Size {
    /// The goals of runs of this size.
    pub fn goals(self, kind: QueueKind) -> Vec<&'static str> {
        match self {
            Self::Usual => Vec::new(),
            // A ring takes at most one batch at once.
            Self::Crowd if kind == QueueKind::Rotating => vec![FULL_HANDFUL],
            Self::Crowd => vec![BEYOND_ONE_BATCH, FULL_HANDFUL],
            Self::Heavy if kind == QueueKind::Rotating => Vec::new(),
            Self::Heavy => vec![BEYOND_ONE_CALLS_BYTES],
        }
    }
}
