use queue_core::QueueKind;

use super::{Size, Workload};
use crate::{
    named::named,
    plan::{ChoicePoint, Decisions, Process, What},
    workload::Mode,
};

macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident = $text:literal: $weights:expr,)*) => {
        named! {
            /// A process's action in a step.
            pub enum Verb {
                $($(#[$doc])* $name = $text,)*
            }
        }

        impl Verb {
            /// The weight of the verb for processes of each role.
            const fn weights(self) -> [u32; 4] {
                match self {
                    $(Self::$name => $weights,)*
                }
            }
        }
    };
}

// The columns: processes that do a bit of everything, producers, consumers, operators.
verbs! {
    /// Nothing.
    Idle = "idle": [2, 2, 2, 2],
    /// Sleep to a boundary.
    Sleep = "sleep": [8, 8, 10, 8],
    /// Put messages in.
    Put = "put": [26, 60, 8, 12],
    /// Take ready messages.
    Take = "take": [20, 4, 30, 8],
    /// Wait for a message, and take it.
    Receive = "receive": [8, 2, 14, 3],
    /// Settle held messages.
    Settle = "settle": [22, 4, 34, 6],
    /// Settle messages that another process holds, that this process held before, or that no process ever held.
    SettleStale = "settle stale": [5, 1, 5, 5],
    /// Settle and lease.
    SettleAndLease = "settle_and_lease": [8, 1, 12, 3],
    /// Extend leases, the process's own or others'.
    Extend = "extend": [6, 1, 8, 4],
    /// Make a call that only this kind of queue has.
    Particular = "particular": [12, 14, 6, 20],
    /// Wait for room, then put a message in.
    Wait = "wait": [6, 12, 1, 2],
    /// Read depth or counters.
    Read = "read": [4, 4, 2, 12],
    /// List dead letters.
    DeadLetters = "dead letters": [2, 1, 1, 6],
    /// Revive dead letters.
    Revive = "revive": [3, 1, 2, 6],
    /// Discard dead letters.
    Discard = "discard": [1, 0, 0, 3],
    /// Purge.
    Purge = "purge": [1, 0, 0, 3],
    /// Pause, and resume after a while.
    Pause = "pause": [1, 1, 0, 3],
    /// Give up a wait.
    Abandon = "give up a wait": [3, 2, 5, 1],
    /// Put messages off while others wait.
    PutOff = "put off": [2, 4, 2, 1],
    /// Change the queue's configuration.
    Reconfigure = "reconfigure": [1, 1, 0, 3],
    /// Put in messages with due times, on kinds that need none.
    PutLater = "put for later": [8, 18, 2, 4],
    /// Cancel messages.
    Cancel = "cancel": [5, 5, 2, 6],
    /// Look at messages without taking them.
    Peek = "peek": [6, 2, 4, 10],
    /// Put in messages that are unique until they are done.
    PutUnique = "put unique": [6, 12, 2, 3],
    /// Put in messages that are outdated after a while.
    PutOutdating = "put outdating": [8, 14, 3, 4],
    /// Ack one message and lease the next, again and again.
    WorkSingly = "work singly": [6, 1, 14, 2],
    /// Find out what became of messages.
    Find = "find": [4, 2, 3, 6],
    /// Give messages another due time.
    Reschedule = "reschedule": [6, 6, 3, 5],
}

/// A process's weights of the verbs, drawn once for each process.
#[derive(Debug, Clone)]
pub(super) struct Leaning(Vec<u32>);

impl Leaning {
    /// Draws this process's leaning.
    pub(super) fn draw(process: Process, workload: &Workload, decisions: &Decisions) -> Self {
        let point = ChoicePoint::new(process, 0, What::Parameter);
        let role = decisions.weigh(point, &[40, 25, 25, 10]) as usize;
        let weight = |verb: &Verb| {
            let verb = *verb;
            if !verb.is_of(workload.kind) || (verb.is_of_operators() && !workload.operators) {
                return 0;
            }
            let weight = verb.weights()[role];
            match verb {
                // In this mode a lost hint shows, so processes wait a lot.
                Verb::Receive | Verb::Wait if workload.mode == Mode::Waiting => weight * 4,
                // In this mode no process sleeps for so long.
                Verb::PutOff if workload.mode == Mode::Faults => 0,
                Verb::PutOff => weight * 2,
                Verb::Reconfigure if !workload.reconfigures() => 0,
                // Such runs are for operations on many messages at once.
                Verb::WorkSingly if workload.size == Size::Crowd => 0,
                Verb::PutUnique | Verb::PutOutdating | Verb::Cancel | Verb::Find
                    if workload.plain =>
                {
                    0
                }
                // Only few runs on bounded queues do this.
                Verb::Reconfigure if workload.kind == QueueKind::Bounded => weight * 4,
                _ => weight,
            }
        };
        Self(Verb::ALL.iter().map(weight).collect())
    }

    /// The leaning of processes that only wait.
    pub(super) fn of_audience(workload: &Workload) -> Self {
        let weight = |verb: &Verb| match verb {
            Verb::Receive => 90,
            Verb::Wait if verb.is_of(workload.kind) => 10,
            _ => 0,
        };
        Self(Verb::ALL.iter().map(weight).collect())
    }

    /// Draws the process's next verb.
    pub(super) fn verb(&self, process: Process, decisions: &Decisions) -> Verb {
        let point = decisions.choice_point(process, What::Verb);
        Verb::ALL[decisions.weigh(point, &self.0) as usize]
    }
}

impl Verb {
    /// Whether this kind of queue has the verb.
    pub const fn is_of(self, kind: QueueKind) -> bool {
        match self {
            Self::Idle
            | Self::Sleep
            | Self::Put
            | Self::Take
            | Self::Receive
            | Self::Read
            | Self::Reconfigure
            | Self::Abandon => true,
            Self::Particular => {
                matches!(
                    kind,
                    QueueKind::Delay
                        | QueueKind::Grouped
                        | QueueKind::Bounded
                        | QueueKind::Rotating
                )
            }
            Self::Wait => matches!(kind, QueueKind::Bounded),
            // On a delay queue, each message gets one.
            Self::PutLater => !matches!(kind, QueueKind::Delay | QueueKind::Rotating),
            _ => !matches!(kind, QueueKind::Rotating),
        }
    }

    const fn is_of_operators(self) -> bool {
        matches!(
            self,
            Self::Purge | Self::Pause | Self::Discard | Self::Reconfigure
        )
    }
}
