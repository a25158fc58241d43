//! What every leasing queue can be asked.

use std::time::Duration;

use queue_core::Disposition;

use super::{IdRef, ReceiptRef};

/// An operation that every leasing queue has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeasingOp {
    /// Let time pass.
    Advance(Jump),
    /// Lease up to so many for so long.
    Lease(usize, Duration),
    /// End leases.
    Settle(Vec<(ReceiptRef, How)>),
    /// End leases, then lease.
    Turn(Vec<(ReceiptRef, How)>, usize, Duration),
    /// Move deadlines.
    Extend(Vec<ReceiptRef>, Duration),
    /// Read a page of so many dead letters: the first, or the one after the last one read.
    DeadLetters {
        /// How many.
        limit: usize,
        /// Whether to go on where the last page ended.
        go_on: bool,
    },
    /// Revive dead letters.
    Revive(Vec<IdRef>),
    /// Discard dead letters.
    Discard(Vec<IdRef>),
    /// Pause.
    Pause,
    /// Resume.
    Resume,
    /// Remove up to so many.
    Purge(usize),
    /// Rounds of 128 messages, each put in, leased, and perhaps settled: enough rounds, and the
    /// bounds of 128 show (L7, L11).
    Burst(Vec<Round>),
    /// A call that is `Invalid` whatever the queue holds.
    Bad(BadCall),
}

/// One round of a [`Burst`](LeasingOp::Burst).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The dedup keys of the messages, from this number on, with a window of 20 ms; `None` for
    /// messages without.
    pub keys: Option<u8>,
    /// For how long the messages are leased; not at all for `None`.
    pub ttl: Option<Duration>,
    /// How each of these leases ends; it stays for `None`.
    pub how: Option<How>,
}

/// How time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jump {
    /// By so many milliseconds.
    By(u64),
    /// To the next moment at which something changes by itself (a deadline, a due time, the end
    /// of a dedup window), and so many milliseconds past it or short of it.
    Next(i8),
}

/// How a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Done.
    Ack,
    /// Failed.
    Retry(Duration),
    /// Busy.
    Defer(Duration),
    /// Given back.
    Release,
    /// Hopeless, with a reason of so many two-byte characters.
    Bury(usize),
}

impl How {
    pub(in crate::model) fn disposition(self) -> Disposition {
        match self {
            Self::Ack => Disposition::Ack,
            Self::Retry(delay) => Disposition::Retry { delay },
            Self::Defer(delay) => Disposition::Defer { delay },
            Self::Release => Disposition::Release,
            Self::Bury(letters) => Disposition::Bury {
                // An odd byte first, so that the cut would fall inside a character.
                reason: format!("x{}", "é".repeat(letters)),
            },
        }
    }
}

/// A call that is `Invalid` whatever the queue holds, and must change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadCall {
    /// Settle 129 receipts, the latest ones.
    SettleTooMany,
    /// Turn with 129 settlements.
    TurnTooMany,
    /// Extend 129 leases.
    ExtendTooMany,
    /// Revive 129 ids.
    ReviveTooMany,
    /// Discard 129 ids.
    DiscardTooMany,
    /// Push 129 messages.
    PushTooMany,
}
