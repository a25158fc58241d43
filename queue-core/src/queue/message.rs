//! Messages, as consumers receive and read them.

use std::time::Duration;

use bytes::Bytes;

use crate::{Headers, MessageId, Receipt};

/// A message that a caller reads without taking it; from a typed queue it is a
/// [`TypedMessage`](crate::TypedMessage).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Message<B = Bytes> {
    /// Names it in its queue.
    pub id: MessageId,
    /// The bytes that were pushed. From a typed queue: the value, or the error of decoding it.
    pub body: B,
    /// The headers that were pushed.
    pub headers: Headers,
}

impl<B> Message<B> {
    /// A message, as a backend shows it.
    pub const fn new(id: MessageId, body: B, headers: Headers) -> Self {
        Self { id, body, headers }
    }
}

/// A message handed out under a lease.
///
/// A backend makes one by [`new`](Self::new), and sets the fields that the message has a value for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Delivery {
    /// The receipt by which the holder settles or extends the lease.
    pub receipt: Receipt,
    /// Which attempt this is, from 1 (L6).
    pub attempt: u32,
    /// How long the lease lives, from the moment it was granted (L10).
    pub time_left: Duration,
    /// The bytes that were pushed.
    pub body: Bytes,
    /// The headers that were pushed.
    pub headers: Headers,
    /// The reason of the last retry (L14); `None` if that gave none, or there was no retry.
    pub failure: Option<String>,
    /// The time from the push to this lease, by the backend's clock, in whole milliseconds. A revival does not begin it
    /// again. `None` if the backend does not store when a message was pushed, as recipes do not.
    pub age: Option<Duration>,
    /// Whether this is the last attempt (L6): if it is retried or its lease expires, the message goes to the dead letters.
    pub last_attempt: bool,
    /// The message's priority, on a priority queue.
    pub priority: Option<i16>,
    /// The key of the message's group, on a grouped queue.
    pub group: Option<Bytes>,
    /// The state that a holder stored with the message (L21); never an empty one. In a box, because most messages have
    /// none.
    pub state: Option<Box<Bytes>>,
}

impl Delivery {
    /// A delivery of a message without headers, which never failed. Its age is not known, and more attempts may follow.
    pub fn new(
        receipt: Receipt,
        attempt: u32,
        time_left: Duration,
        body: impl Into<Bytes>,
    ) -> Self {
        Self {
            receipt,
            attempt,
            time_left,
            body: body.into(),
            headers: Headers::new(),
            failure: None,
            age: None,
            last_attempt: false,
            priority: None,
            group: None,
            state: None,
        }
    }

    /// Bytes of body, headers and state, which count towards the 8 MiB that one call hands out.
    pub fn size(&self) -> usize {
        let state = self.state.as_ref().map_or(0, |state| state.len());
        self.body.len() + self.headers.size() + state
    }

    /// The message's id.
    pub const fn id(&self) -> MessageId {
        self.receipt.id
    }
}
