//! Messages, as producers push them: a body, and the options of single messages.

use std::time::Duration;

use bytes::Bytes;

use crate::{Due, Error, Headers, MessageId, QueueKind, Result, TimeToLive, limits};

/// A message to push: a body, headers, and options.
///
/// Every kind of queue that leases takes headers, a due time, a time to live, a dedup key and a distinct key. A
/// priority, a group and an overflow policy belong to one kind each. A queue of another kind refuses them as
/// `Invalid`, before anything is done.
///
/// | option | without it |
/// | --- | --- |
/// | `due` | due at once |
/// | `priority` | 0 (priority queues alone) |
/// | `group` | the partition key in the headers, or `-` (grouped queues alone) |
/// | `overflow` | [`Overflow::Reject`] (bounded queues alone) |
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
    /// Nobody receives the message before this time (D1).
    pub due: Option<Due>,
    /// The priority on a priority queue: larger is more urgent, 0 is ordinary.
    pub priority: Option<i16>,
    /// The key of the message's group on a grouped queue: any 1 to 256 bytes.
    pub group: Option<Bytes>,
    /// Makes a repeated push a no-op (L9).
    pub dedup: Option<Dedup>,
    /// Replaces the undelivered message under the same key (B7).
    pub distinct: Option<Distinct>,
    /// The policy of a bounded queue without room for the message (B2, B3).
    pub overflow: Overflow,
    /// Nobody receives the message after this time (L17).
    pub time_to_live: Option<TimeToLive>,
}

impl Push {
    /// The header that names a message's partition key, see [`Partitioned`](crate::Partitioned).
    pub const PARTITION_KEY: &'static str = "partition-key";

    /// The group of a message without a key, on a grouped queue.
    pub const NO_GROUP: &'static str = "-";

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

    /// Delays the message: after a `Duration`, or until a `Timestamp` or `SystemTime`, by the
    /// backend's clock (D1).
    #[must_use]
    pub fn with_due(mut self, due: impl Into<Due>) -> Self {
        self.due = Some(due.into());
        self
    }

    /// Sets the priority, on a priority queue. [`limits::priority`] checks a wider number.
    #[inline]
    #[must_use]
    pub const fn with_priority(mut self, priority: i16) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Puts the message into the group of this key, on a grouped queue.
    #[must_use]
    pub fn with_group(mut self, key: impl Into<Bytes>) -> Self {
        self.group = Some(key.into());
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

    /// Replaces the undelivered message under the same key (B7).
    #[must_use]
    pub fn with_distinct(mut self, distinct: impl Into<Distinct>) -> Self {
        self.distinct = Some(distinct.into());
        self
    }

    /// Sets the policy for a full bounded queue.
    #[inline]
    #[must_use]
    pub const fn with_overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Limits how long the message may wait to be delivered, counted from the push (L17).
    #[inline]
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

    /// The key of the message's group: its own, or the partition key in its headers, or `-`.
    pub fn group_key(&self) -> &[u8] {
        let partition_key = || {
            self.headers
                .get(Self::PARTITION_KEY)
                .unwrap_or(Self::NO_GROUP)
        };
        self.group
            .as_deref()
            .unwrap_or_else(|| partition_key().as_bytes())
    }

    /// Checks a batch for a queue of this kind: its length, the size of each and of all, and the options.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is broken, or for an option that the kind does not have; the error names the option and
    /// the kind that has it.
    #[inline]
    pub fn check_all(batch: &[Self], kind: QueueKind, max_body: usize) -> Result<()> {
        limits::check_batch(batch.len())?;
        let mut total = 0_usize;
        for push in batch {
            let size = push.size();
            total = total.saturating_add(size);
            if size > max_body || push.asks_on(kind) {
                return Self::check_each(batch, kind, max_body);
            }
        }
        match total > limits::MAX_BATCH_BYTES || kind == QueueKind::Grouped {
            true => Self::check_each(batch, kind, max_body),
            false => Ok(()),
        }
    }

    #[inline(never)]
    fn check_each(batch: &[Self], kind: QueueKind, max_body: usize) -> Result<()> {
        limits::check_sizes(batch.iter().map(Self::size), max_body)?;
        batch.iter().try_for_each(|push| push.check_options(kind))
    }

    /// Whether an option has to be looked at. Most pushes have none but their kind's own.
    #[inline]
    fn asks_on(&self, kind: QueueKind) -> bool {
        self.dedup.is_some()
            || self.distinct.is_some()
            || self.group.is_some()
            || self.time_to_live.is_some()
            || (self.priority.is_some() && kind != QueueKind::Priority)
            || self.overflow != Overflow::Reject
            || self.due.is_some_and(Due::is_too_far)
    }

    fn check_options(&self, kind: QueueKind) -> Result<()> {
        let belongs = |option: &str, given: bool, to: QueueKind| match given && kind != to {
            true => Err(Error::invalid(format!(
                "a push with {option} on a {kind} queue, which has none: leave it out, or use a {to} queue"
            ))),
            false => Ok(()),
        };
        belongs("a priority", self.priority.is_some(), QueueKind::Priority)?;
        belongs("a group", self.group.is_some(), QueueKind::Grouped)?;
        let evicts = self.overflow != Overflow::Reject;
        belongs("an overflow policy", evicts, QueueKind::Bounded)?;
        if kind == QueueKind::Grouped {
            limits::check_key(self.group_key())?;
        }
        if let Some(dedup) = &self.dedup {
            limits::check_key(&dedup.key)?;
            dedup.window_millis()?;
        }
        if let Some(distinct) = &self.distinct {
            limits::check_key(&distinct.key)?;
            distinct.longest_millis()?;
        }
        self.due.map_or(Ok(()), Due::check)?;
        match self.time_to_live {
            Some(time_to_live) => time_to_live.check(self.due),
            None => Ok(()),
        }
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

/// A distinct key: a push replaces the undelivered message under the same key (B7).
///
/// The key belongs to the message last accepted under it. While that message is leased, a push adds a new message, and
/// the key passes to it; the older one is an ordinary message from then on.
///
/// With a due time this is *debounce*: each edit replaces the last message and waits again. `at_latest` bounds the
/// wait: a replacement is due no later than `longest` after the first push of the messages that replaced each other.
///
/// ```
/// use std::time::Duration;
/// use queue_core::{Distinct, Push};
///
/// let reindex = Push::new("document 7")
///     .with_due(Duration::from_secs(10))
///     .with_distinct(Distinct::new("document-7").at_latest(Duration::from_secs(60)));
/// # let _ = reindex;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Distinct {
    /// The key, 1 to 256 bytes.
    pub key: Bytes,
    /// The longest that replacements may postpone the message, counted from the first push: 1 ms to 2^47 ms.
    pub longest: Option<Duration>,
}

impl Distinct {
    /// A key without a longest wait.
    pub fn new(key: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            longest: None,
        }
    }

    /// Makes the message due no later than `longest` after the first push of the messages that replaced each other.
    #[must_use]
    pub const fn at_latest(mut self, longest: Duration) -> Self {
        self.longest = Some(longest);
        self
    }

    /// Whole milliseconds of the longest wait, rounded up.
    ///
    /// # Errors
    ///
    /// `Invalid` if it is zero or longer than [`MAX_DELAY`](limits::MAX_DELAY).
    pub fn longest_millis(&self) -> Result<Option<u64>> {
        self.longest.map(limits::longest_wait_millis).transpose()
    }
}

impl<K: Into<Bytes>> From<K> for Distinct {
    fn from(key: K) -> Self {
        Self::new(key)
    }
}

/// The policy for a message that finds no room in a bounded queue. To wait for room, use
/// [`push_or_wait`](crate::BoundedQueueExt::push_or_wait).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// Refuse the message: [`Pushed::Full`], and nothing changed (B3).
    #[default]
    Reject,
    /// Drop the next undelivered message in delivery order, a delayed one only if none is ready. If all are
    /// leased, the result is [`Pushed::Full`] (B2).
    DropOldest,
}

/// The result of pushing one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a full queue refuses a message without an error: look for `Pushed::Full`"]
pub enum Pushed {
    /// It is in the queue under this id.
    Accepted(MessageId),
    /// A push with this dedup key came before, within the window: nothing changed. The id is that of the
    /// first push, whose message may be done by now.
    Duplicate(MessageId),
    /// It is in the queue instead of the undelivered message that held its distinct key (B7).
    Replaced {
        /// Its id.
        id: MessageId,
        /// The message that it replaced.
        replaced: MessageId,
    },
    /// It is in the queue, a bounded one, which dropped another message to make room (B2).
    Evicted {
        /// Its id.
        id: MessageId,
        /// The message that the queue dropped.
        evicted: MessageId,
    },
    /// A bounded queue had no room: nothing changed (B3).
    Full,
}

impl Pushed {
    /// The message's id; for a duplicate, the first one's; `None` if the queue was full.
    pub const fn id(self) -> Option<MessageId> {
        match self {
            Self::Accepted(id)
            | Self::Duplicate(id)
            | Self::Replaced { id, .. }
            | Self::Evicted { id, .. } => Some(id),
            Self::Full => None,
        }
    }

    /// Whether the push was a repeat.
    pub const fn is_duplicate(self) -> bool {
        matches!(self, Self::Duplicate(_))
    }

    /// The same answer with these ids instead.
    pub(crate) fn map(self, to: impl Fn(MessageId) -> MessageId) -> Self {
        match self {
            Self::Accepted(id) => Self::Accepted(to(id)),
            Self::Duplicate(id) => Self::Duplicate(to(id)),
            Self::Replaced { id, replaced } => Self::Replaced {
                id: to(id),
                replaced: to(replaced),
            },
            Self::Evicted { id, evicted } => Self::Evicted {
                id: to(id),
                evicted: to(evicted),
            },
            Self::Full => Self::Full,
        }
    }
}
