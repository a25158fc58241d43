//! Looking at messages without taking them (L16).

use std::time::Duration;

use bytes::Bytes;

use crate::{Holder, Message, Receipt};

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

/// A message as a peek found it; of a typed queue it is a [`TypedPeeked`](crate::TypedPeeked).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Peeked<B = Bytes> {
    /// The message.
    pub message: Message<B>,
    /// How many attempts it has had, with the one under way.
    pub attempts: u32,
    /// The time since it was pushed.
    pub age: Duration,
    /// Why the last retry said that it failed (L14); `None` if it said nothing, or never failed.
    pub failure: Option<String>,
    /// Where it is.
    pub standing: Standing,
}

impl Peeked {
    /// Bytes of body and headers.
    pub fn size(&self) -> usize {
        self.message.body.len() + self.message.headers.size()
    }
}

/// Where a message is, and what is to be told of that place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Ready.
    Ready,
    /// Delayed.
    Delayed {
        /// The time until it is due.
        due_in: Duration,
    },
    /// Leased.
    Leased {
        /// What its holder shows to settle or extend. An operator who settles with it ends the
        /// lease: the holder's next call answers `LeaseLost` (L4).
        receipt: Receipt,
        /// How long the lease lives.
        time_left: Duration,
        /// Who holds it, if the call that leased it said so.
        holder: Option<Holder>,
    },
}
