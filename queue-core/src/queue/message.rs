//! Messages, as producers push them and as consumers receive them.

use std::time::Duration;

use bytes::Bytes;

use crate::{Due, Headers, MessageId, Receipt, Result, TimeToLive, limits};

/// A message to push: a body, headers, and optionally a dedup key, a due time and a time to live.
///
/// ```
/// use std::time::Duration;
/// use queue_core::Push;
///
/// let push = Push::new("charge order 42")
///     .with_header("tenant", "acme")
///     .with_dedup("charge-42", Duration::from_secs(3600));
/// assert_eq!(push.size(), 25);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Push {
    /// Opaque bytes; they come out as they went in.
    pub body: Bytes,
    /// Text beside the body.
    pub headers: Headers,
    /// Makes a repeated push a no-op (L9).
    pub dedup: Option<Dedup>,
    /// Nobody receives the message before this time (D1). On a delay queue each message has a due time of its
    /// own, and this one is refused.
    pub due: Option<Due>,
    /// Nobody receives the message after this time (L17).
    pub time_to_live: Option<TimeToLive>,
}

impl Push {
    /// A message with this body.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            ..Self::default()
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers = self.headers.with(name, value);
        self
    }

    /// Sets all headers.
    #[must_use]
    pub fn with_headers(mut self, headers: Headers) -> Self {
        self.headers = headers;
        self
    }

    /// Makes a repeat of this push within the window a duplicate (L9).
    #[must_use]
    pub fn with_dedup(mut self, key: impl Into<Bytes>, window: Duration) -> Self {
        self.dedup = Some(Dedup {
            key: key.into(),
            window,
            until_done: false,
        });
        self
    }

    /// Makes a repeat of this push a duplicate until its message is acked, dead or gone, but no longer than
    /// `longest` (L9): one message under the key at a time. [`MAX_UNIQUE`](limits::MAX_UNIQUE) is longer than any
    /// message lives.
    #[must_use]
    pub fn with_unique(mut self, key: impl Into<Bytes>, longest: Duration) -> Self {
        self.dedup = Some(Dedup {
            key: key.into(),
            window: longest,
            until_done: true,
        });
        self
    }

    /// Delays the message: after a `Duration`, or until a `Timestamp` or `SystemTime`, by the
    /// backend's clock (D1).
    #[must_use]
    pub fn with_due(mut self, due: impl Into<Due>) -> Self {
        self.due = Some(due.into());
        self
    }

    /// Limits how long the message may wait to be delivered, counted from the push (L17).
    #[must_use]
    pub const fn with_time_to_live(mut self, time_to_live: TimeToLive) -> Self {
        self.time_to_live = Some(time_to_live);
        self
    }

    /// Bytes of body and headers, which count towards the limits.
    #[inline]
    pub fn size(&self) -> usize {
        self.body.len() + self.headers.size()
    }

    /// Checks a batch: its length, the size of each and of all, the dedup keys, the due times and
    /// the times to live.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken.
    #[inline]
    pub fn check_all<'a>(
        batch: impl ExactSizeIterator<Item = &'a Self> + Clone,
        max_body: usize,
    ) -> Result<()> {
        limits::check_batch(batch.len())?;
        limits::check_sizes(batch.clone().map(Self::size), max_body)?;
        for push in batch {
            if let Some(dedup) = &push.dedup {
                limits::check_key(&dedup.key)?;
                dedup.window_millis()?;
            }
            push.due.map_or(Ok(()), Due::check)?;
            if let Some(time_to_live) = push.time_to_live {
                time_to_live.check(push.due)?;
            }
        }
        Ok(())
    }
}

impl<B: Into<Bytes>> From<B> for Push {
    fn from(body: B) -> Self {
        Self::new(body)
    }
}

/// A dedup key and how long its mark lives (L9).
///
/// The mark holds the first message's id and lives from the first push for the window. A duplicate does not
/// extend the mark. The mark outlives the message, unless `until_done` is set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dedup {
    /// Names the business event, 1 to 256 bytes.
    pub key: Bytes,
    /// The time in which a repeat is a duplicate: 1 ms to 7 days; with `until_done`, to 2^47 ms.
    pub window: Duration,
    /// Whether the mark ends with its message, if that is acked, dead or gone before the window is
    /// over. Such a key does not make it safe to repeat a push of unknown outcome: the message may
    /// be done by then.
    pub until_done: bool,
}

impl Dedup {
    /// Whole milliseconds of the window, rounded up.
    ///
    /// # Errors
    ///
    /// `Invalid` if it is zero, or longer than [`MAX_DEDUP_WINDOW`](limits::MAX_DEDUP_WINDOW); with `until_done`, than
    /// [`MAX_UNIQUE`](limits::MAX_UNIQUE).
    pub fn window_millis(&self) -> Result<u64> {
        match self.until_done {
            true => limits::unique_millis(self.window),
            false => limits::window_millis(self.window),
        }
    }

    /// Whether a push with this key can be repeated safely after an unknown outcome (L8).
    pub const fn makes_repeats_safe(&self) -> bool {
        !self.until_done
    }
}

/// The result of pushing one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pushed {
    /// It is in the queue under this id.
    Accepted(MessageId),
    /// A push with this dedup key came before, within the window: nothing changed. The id is that of the
    /// first push, whose message may be done by now.
    Duplicate(MessageId),
}

impl Pushed {
    /// The accepted message's id, or the first one's for a duplicate.
    pub const fn id(self) -> MessageId {
        match self {
            Self::Accepted(id) | Self::Duplicate(id) => id,
        }
    }

    /// Whether the push was a repeat.
    pub const fn is_duplicate(self) -> bool {
        matches!(self, Self::Duplicate(_))
    }
}

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
        }
    }

    /// The message's id.
    pub const fn id(&self) -> MessageId {
        self.receipt.id
    }
}
