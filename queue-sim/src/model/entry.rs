//! A message, and where it is.

use bytes::Bytes;
use queue_core::{DeathReason, Headers, MessageId, Token};

/// A message that was accepted once; it stays in the model when it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) id: MessageId,
    pub(super) body: Bytes,
    pub(super) headers: Headers,
    pub(super) priority: i16,
    /// Attempts spent, the one under way included.
    pub(super) attempts: u32,
    /// What ageing counts from.
    pub(super) arrival: u64,
    /// What the age of the oldest ready message counts from.
    pub(super) ready_since: u64,
    /// When it joined the ready, as a growing number.
    pub(super) joined: u64,
    /// The distinct key that it holds.
    pub(super) distinct: Option<Bytes>,
    pub(super) place: Place,
}

impl Entry {
    pub(super) fn size(&self) -> usize {
        let headers = self.headers.iter();
        let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
        self.body.len() + headers
    }

    /// The deadline of its lease, live or expired.
    pub(super) fn deadline(&self) -> Option<u64> {
        match self.place {
            Place::Leased { deadline, .. } => Some(deadline),
            _ => None,
        }
    }

    /// When it is due, if it waits for that.
    pub(super) fn due(&self) -> Option<u64> {
        match self.place {
            Place::Delayed { due } => Some(due),
            _ => None,
        }
    }

    /// Its place among the dead.
    pub(super) fn death(&self) -> Option<&Death> {
        match &self.place {
            Place::Dead(death) => Some(death),
            _ => None,
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.place, Place::Gone(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Ready, in the order of joining.
    Ready,
    /// Ready again after a release or an expiry.
    Returned,
    /// Waits for its due time; on a delay queue, ready from then on.
    Delayed { due: u64 },
    /// Held, until the deadline or until it is reclaimed.
    Leased { token: Token, deadline: u64 },
    /// Among the dead letters.
    Dead(Death),
    /// No longer in the queue.
    Gone(Exit),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Death {
    pub(super) reason: DeathReason,
    pub(super) at: u64,
    /// Deaths of the queue are numbered in their order.
    pub(super) order: u64,
}

/// How a message left the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Exit {
    Acked,
    Evicted,
    Replaced,
    Cancelled,
    Discarded,
    Trimmed,
    Purged,
}
