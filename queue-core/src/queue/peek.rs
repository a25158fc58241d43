//! Peeking: showing messages without taking them (L16).

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use crate::{Holder, Message, Receipt, TimeToLive, values::in_json};

/// The place of messages that a peek shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Ready, in delivery order.
    Ready,
    /// Delayed, by (due, id): pushed with a due time, retried or deferred.
    Delayed,
    /// Leased, by (deadline, id).
    Leased,
}

impl Place {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ready, Self::Delayed, Self::Leased];
}

/// A message as a peek found it; from a typed queue it is a [`TypedPeeked`](crate::TypedPeeked).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Peeked<B = Bytes> {
    /// The message.
    pub message: Message<B>,
    /// How many attempts the message has had, including the one under way.
    pub attempts: u32,
    /// The time since it was pushed.
    pub age: Duration,
    /// The reason of the last retry (L14); `None` if that gave none, or there was no retry.
    pub failure: Option<String>,
    /// Its priority on a priority queue; 0 on queues of other kinds.
    pub priority: i16,
    /// The key of its group on a grouped queue.
    pub group: Option<Bytes>,
    /// If the message has a time to live (L17): the time that is left, and how the message ends then. It is zero
    /// while a live lease holds an outdated message.
    pub time_to_live: Option<TimeToLive>,
    /// The state that a holder stored with the message (L21).
    pub state: Option<Bytes>,
    /// The message's place.
    pub standing: Standing,
}

impl<B> Peeked<B> {
    /// A message at its place, which never gave a reason for a retry.
    pub const fn new(
        message: Message<B>,
        attempts: u32,
        age: Duration,
        standing: Standing,
    ) -> Self {
        Self {
            message,
            attempts,
            age,
            failure: None,
            priority: 0,
            group: None,
            time_to_live: None,
            state: None,
            standing,
        }
    }
}

impl Peeked {
    /// Bytes of body, headers and state.
    pub fn size(&self) -> usize {
        let state = self.state.as_ref().map_or(0, Bytes::len);
        self.message.body.len() + self.message.headers.size() + state
    }
}

/// The place of a message, with the details of that place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Ready.
    Ready,
    /// Delayed.
    #[non_exhaustive]
    Delayed {
        /// The time until it is due.
        #[serde(rename = "due_in_ms", serialize_with = "in_json::millis")]
        due_in: Duration,
    },
    /// Leased.
    #[non_exhaustive]
    Leased {
        /// The receipt by which its holder settles or extends. An operator who settles with it ends the
        /// lease: the holder's next call gets `LeaseLost` (L4).
        receipt: Receipt,
        /// The time that the lease has left.
        #[serde(rename = "time_left_ms", serialize_with = "in_json::millis")]
        time_left: Duration,
        /// The holder's name, if the call that leased the message gave it.
        #[serde(serialize_with = "in_json::holder")]
        holder: Option<Holder>,
        /// The progress that the holder reported last (L19).
        #[serde(serialize_with = "in_json::bytes_if_any")]
        progress: Option<Bytes>,
    },
}

impl Standing {
    /// Delayed, and due after this time.
    pub const fn delayed(due_in: Duration) -> Self {
        Self::Delayed { due_in }
    }

    /// Leased under this receipt for the time that is left, by this holder and with its progress.
    pub const fn leased(
        receipt: Receipt,
        time_left: Duration,
        holder: Option<Holder>,
        progress: Option<Bytes>,
    ) -> Self {
        Self::Leased {
            receipt,
            time_left,
            holder,
            progress,
        }
    }
}
