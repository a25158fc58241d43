//! A message, and its place.

use bytes::Bytes;
use queue_core::{DeathReason, Headers, Holder, Message, MessageId, Outdated, Token};

use super::limits;

/// An accepted message. It stays in the model when it is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ModelEntry {
    pub(super) id: MessageId,
    pub(super) body: Bytes,
    pub(super) headers: Headers,
    pub(super) priority: i16,
    /// The key of its group, on a grouped queue.
    pub(super) key: Bytes,
    /// Whether it waits after a retry or a defer.
    pub(super) returns: bool,
    /// When it was pushed.
    pub(super) pushed: u64,
    /// The reason that its last retry gave.
    pub(super) failure: Option<String>,
    /// The state that a holder stored with the message (L21); empty for none.
    pub(super) state: Bytes,
    /// Attempts spent, including the current one.
    pub(super) attempts: u32,
    /// The time from which ageing counts.
    pub(super) arrival: u64,
    /// The time from which the age of the oldest ready message counts.
    pub(super) ready_since: u64,
    /// Its number in the order of joining the ready messages.
    pub(super) joined: u64,
    /// The distinct key that it holds (B7).
    pub(super) distinct: Option<HeldKey>,
    /// The end of its result's time, and the result (S1).
    pub(super) result: Option<(u64, Bytes)>,
    /// The end of its time to live, and the message's fate then (L17).
    pub(super) outdates: Option<(u64, Outdated)>,
    pub(super) place: ModelPlace,
}

impl ModelEntry {
    pub(super) fn size(&self) -> usize {
        limits::size(&self.body, &self.headers) + self.state.len()
    }

    pub(super) fn state(&self) -> Option<Bytes> {
        (!self.state.is_empty()).then(|| self.state.clone())
    }

    pub(super) fn message(&self) -> Message {
        Message::new(self.id, self.body.clone(), self.headers.clone())
    }

    pub(super) fn group(&self) -> Option<Bytes> {
        (!self.key.is_empty()).then(|| self.key.clone())
    }

    /// The deadline of its lease, live or expired.
    pub(super) fn deadline(&self) -> Option<u64> {
        match self.place {
            ModelPlace::Leased { deadline, .. } => Some(deadline),
            _ => None,
        }
    }

    /// Its due time, if it waits for a due time.
    pub(super) fn due(&self) -> Option<u64> {
        match self.place {
            ModelPlace::Delayed { due } => Some(due),
            _ => None,
        }
    }

    /// The end of its time to live, while nobody has leased it.
    pub(super) fn end(&self) -> Option<u64> {
        let (end, _) = self.outdates.filter(|_| self.is_undelivered())?;
        Some(end)
    }

    /// Whether it is ready or delayed.
    pub(super) fn is_undelivered(&self) -> bool {
        matches!(
            self.place,
            ModelPlace::Ready | ModelPlace::Returned | ModelPlace::Delayed { .. }
        )
    }

    /// Its death, if it is a dead letter.
    pub(super) fn death(&self) -> Option<&Death> {
        match &self.place {
            ModelPlace::Dead(death) => Some(death),
            _ => None,
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.place, ModelPlace::Gone(_))
    }
}

/// A distinct key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct HeldKey {
    pub(super) key: Bytes,
    /// The first push of the messages that replaced each other, if they have longest waits.
    pub(super) since: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ModelPlace {
    /// Ready, in the order of joining.
    Ready,
    /// Ready again after a release or an expiry.
    Returned,
    /// Waits for its due time; on a delay queue, ready from then on.
    Delayed { due: u64 },
    /// Leased, until the deadline or until a call reclaims it.
    Leased {
        token: Token,
        deadline: u64,
        /// The name of its holder, if the call that leased it passed one.
        holder: Option<Holder>,
        /// The progress that its holder reported last.
        progress: Option<Bytes>,
    },
    /// Among the dead letters.
    Dead(Death),
    /// No longer in the queue.
    Gone(Exit),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Death {
    pub(super) reason: DeathReason,
    pub(super) at: u64,
    /// Its number in the order of deaths.
    pub(super) order: u64,
}

/// The way in which a message left the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Exit {
    Acked,
    Evicted,
    Replaced,
    Cancelled,
    Discarded,
    Trimmed,
    Purged,
    Outdated,
}
