//! Messages with more than a value.

use std::time::Duration;

use super::{Takes, Typed};
use crate::{
    Bytes, DelayQueue, Distinct, Due, Encode, Error, GroupedQueue, Headers, Leasing, LeasingExt,
    MessageId, PriorityQueue, Push, Pushed, ReliableQueue, Result, TimeToLive,
};

/// A message that is not sent yet, made by `message` of a typed handle: a value, headers, and the settings
/// that its kind of queue takes.
///
/// ```
/// use std::time::Duration;
/// use queue_core::{Delay, Priority, Reliable, Sent};
///
/// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
///
/// # async fn example(
/// #     mails: Reliable<String>,
/// #     reminders: Delay<u64>,
/// #     tickets: Priority<String>,
/// # ) -> queue_core::Result<()> {
/// let mail = mails.message("to: ann").header("tenant", "acme");
/// match mail.dedup("welcome-ann", DAY).send().await? {
///     Sent::Duplicate(first) => println!("message {first} was the same"),
///     sent => println!("message {}", sent.id()),
/// }
/// reminders.message(&42).header("tenant", "acme").delay(DAY).send().await?;
/// tickets.message("the site is down").priority(10).send().await?;
/// # Ok(())
/// # }
/// ```
///
/// A message has only the settings of its kind:
///
/// | kind | besides headers |
/// | --- | --- |
/// | reliable, and every kind below but the ring | a dedup key, or a unique one; a distinct key; a due time; a time to live |
/// | delay | needs the due time |
/// | priority | a priority, 0 without one |
/// | grouped | needs the key of its group |
/// | bounded | needs the policy for a full queue |
/// | rotating | the item's key |
///
/// A reliable queue, for one, knows no priority:
///
/// ```compile_fail,E0599
/// # use queue_core::Reliable;
/// # async fn example(mails: Reliable<String>) -> queue_core::Result<()> {
/// mails.message("to: ann").priority(10).send().await?;
/// # Ok(())
/// # }
/// ```
///
/// `send` exists once the message has what its kind requires: a due time on a delay queue, a policy for a
/// full queue on a bounded queue. So no program forgets the due time:
///
/// ```compile_fail,E0599
/// # use queue_core::Delay;
/// # async fn example(reminders: Delay<u64>) -> queue_core::Result<()> {
/// reminders.message(&42).send().await?;
/// # Ok(())
/// # }
/// ```
///
/// The value is encoded at once, and the message keeps no reference to it. An encoding that fails is the
/// error of `send`. A message that is dropped before it is sent changes nothing. A `send` that is dropped, or
/// fails with an unknown outcome, may have taken effect (L8), and can be repeated with a dedup key (L9). A
/// unique key does not make the repeat safe: the message may be done by then.
#[derive(Debug)]
#[must_use = "nothing is sent before `send`"]
pub struct MessageBuilder<'a, Q: ?Sized, Terms = ()> {
    pub(super) queue: &'a Q,
    /// The encoded message, or the error of the codec.
    pub(super) push: Result<Push>,
    /// `()` once the message has what its kind requires.
    pub(super) terms: Terms,
}

/// A message for a delay queue that has no due time yet.
#[derive(Debug)]
pub struct NotDue;

/// A message for a bounded queue that has no policy for a full queue yet.
#[derive(Debug)]
pub struct NoPolicy;

impl<T, Q: ?Sized, C: ?Sized> Typed<T, Q, C> {
    pub(super) fn compose<V: ?Sized>(&self, value: &V) -> MessageBuilder<'_, Q>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        MessageBuilder {
            queue: &*self.queue,
            push: self.encode(value),
            terms: (),
        }
    }
}

impl<'a, Q: ?Sized, Terms> MessageBuilder<'a, Q, Terms> {
    /// Adds a header; one of the same name is replaced.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|push| push.with_header(name, value))
    }

    /// Sets all headers, replacing earlier ones, except for the name of a [`Job`](crate::Job)'s type.
    ///
    /// ```
    /// use queue_core::{Headers, Reliable, TraceParent};
    ///
    /// # async fn example(jobs: Reliable<u64>, here: TraceParent) -> queue_core::Result<()> {
    /// let headers = Headers::new().with_trace_parent(here);
    /// jobs.message(&42).headers(headers).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn headers(self, headers: Headers) -> Self {
        self.set(|push| {
            let headers = match push.headers.job() {
                Some(job) => headers.with_job(job),
                None => headers,
            };
            push.with_headers(headers)
        })
    }

    pub(super) fn on<New>(self, terms: New) -> MessageBuilder<'a, Q, New> {
        MessageBuilder {
            queue: self.queue,
            push: self.push,
            terms,
        }
    }

    pub(super) fn set(mut self, option: impl FnOnce(Push) -> Push) -> Self {
        self.push = self.push.map(option);
        self
    }
}

impl<Q: Leasing + ?Sized, Terms> MessageBuilder<'_, Q, Terms> {
    /// Makes the message a duplicate, which changes nothing, if `key` was sent within the window (L9). So the
    /// caller can safely repeat `send` after an error of unknown outcome.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # async fn example(charges: queue_core::Reliable<u64>) -> queue_core::Result<()> {
    /// let hour = Duration::from_secs(60 * 60);
    /// for _two_clicks in 0..2 {
    ///     charges.message(&42).dedup("charge-42", hour).send().await?;
    /// }
    /// assert_eq!(charges.queue().depth().await?.ready, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn dedup(self, key: impl Into<Bytes>, window: Duration) -> Self {
        self.set(|push| push.with_dedup(key, window))
    }

    /// Makes the message a duplicate, which changes nothing, while an earlier message under `key` is not
    /// acked, dead or gone, but no longer than `longest` (L9).
    /// [`limits::MAX_UNIQUE`](crate::limits::MAX_UNIQUE) is longer than any message lives.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # async fn example(rebuilds: queue_core::Reliable<u64>) -> queue_core::Result<()> {
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// for _two_changes in 0..2 {
    ///     rebuilds.message(&42).unique("index-42", day).send().await?;
    /// }
    /// assert_eq!(rebuilds.queue().depth().await?.ready, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn unique(self, key: impl Into<Bytes>, longest: Duration) -> Self {
        self.set(|push| push.with_unique(key, longest))
    }

    /// Replaces the undelivered message under the same key, also when a bounded queue is full (B7). A key
    /// has 1 to 256 bytes.
    ///
    /// ```
    /// use queue_core::{Reliable, Sent};
    ///
    /// # async fn example(prices: Reliable<f64>) -> queue_core::Result<()> {
    /// prices.message(&9.5).distinct("lamp").send().await?;
    /// let newer = prices.message(&9.0).distinct("lamp").send().await?;
    /// assert!(matches!(newer, Sent::Replaced { .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub fn distinct(self, key: impl Into<Bytes>) -> Self {
        self.set(|push| push.with_distinct(Distinct::new(key)))
    }

    /// Bounds the wait of [`debounce`](Self::debounce): the message is due no later than `longest` after the first of
    /// the messages that replaced each other under its key. Without a distinct key, `send` returns `Invalid`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # async fn example(reindex: queue_core::Reliable<u64>) -> queue_core::Result<()> {
    /// let (ten_seconds, minute) = (Duration::from_secs(10), Duration::from_secs(60));
    /// let edited = reindex.message(&42).debounce("document-42", ten_seconds).at_latest(minute);
    /// edited.send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn at_latest(mut self, longest: Duration) -> Self {
        self.push = self.push.and_then(|push| match push.distinct.clone() {
            Some(distinct) => Ok(push.with_distinct(distinct.at_latest(longest))),
            None => Err(Error::invalid(
                "at_latest on a message without a distinct key: call debounce or distinct before",
            )),
        });
        self
    }

    /// Makes the queue drop the message if nobody receives it within this time after the push (L17), also if
    /// it failed before. The last call counts.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # async fn example(codes: queue_core::Reliable<u64>) -> queue_core::Result<()> {
    /// let useful = Duration::from_secs(5 * 60);
    /// codes.message(&4711).drop_after(useful).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn drop_after(self, limit: Duration) -> Self {
        self.live(TimeToLive::drop_after(limit))
    }

    /// Makes the queue move the message to the dead letters if nobody receives it within this time after the
    /// push (L17), also if it failed before. The last call counts.
    pub fn bury_after(self, limit: Duration) -> Self {
        self.live(TimeToLive::bury_after(limit))
    }

    fn live(self, time_to_live: TimeToLive) -> Self {
        self.set(|push| push.with_time_to_live(time_to_live))
    }
}

/// A kind of queue with room for any number of messages.
#[doc(hidden)]
pub trait Unbounded: Leasing {}

impl Unbounded for dyn ReliableQueue {}
impl Unbounded for dyn DelayQueue {}
impl Unbounded for dyn PriorityQueue {}
impl Unbounded for dyn GroupedQueue {}

impl<Q: Unbounded + ?Sized> MessageBuilder<'_, Q> {
    /// Puts the message in.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`], and of the codec.
    pub async fn send(self) -> Result<Sent> {
        Sent::of(self.queue.push_one(self.push?).await?)
    }
}

/// The result of sending a message to a queue with room for any number of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sent {
    /// It is in the queue under this id.
    Accepted(MessageId),
    /// A message with this dedup key came before, within the window: nothing changed. The id is that of the
    /// first message, which may be done by now (L9).
    Duplicate(MessageId),
    /// It is in the queue instead of the undelivered message that held its distinct key (B7).
    Replaced {
        /// Its id.
        id: MessageId,
        /// The message that it replaced.
        replaced: MessageId,
    },
}

impl Sent {
    /// The message's id; for a duplicate, the first one's.
    pub const fn id(self) -> MessageId {
        match self {
            Self::Accepted(id) | Self::Duplicate(id) | Self::Replaced { id, .. } => id,
        }
    }

    /// Whether the message was a repeat.
    pub const fn is_duplicate(self) -> bool {
        matches!(self, Self::Duplicate(_))
    }

    pub(super) fn of(pushed: Pushed) -> Result<Self> {
        match pushed {
            Pushed::Accepted(id) => Ok(Self::Accepted(id)),
            Pushed::Duplicate(id) => Ok(Self::Duplicate(id)),
            Pushed::Replaced { id, replaced } => Ok(Self::Replaced { id, replaced }),
            Pushed::Evicted { .. } | Pushed::Full => Err(Error::unanswered()),
        }
    }
}

/// A kind of queue whose messages may have a due time.
#[doc(hidden)]
pub trait MayDelay: Leasing {}

impl<Q: MayDelay + ?Sized, Terms> MessageBuilder<'_, Q, Terms> {
    /// Delays the message by `delay` after the queue accepts it (D1).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # async fn example(tickets: queue_core::Priority<u64>) -> queue_core::Result<()> {
    /// let hour = Duration::from_secs(60 * 60);
    /// tickets.message(&42).priority(10).delay(hour).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn delay(self, delay: Duration) -> Self {
        self.due(delay)
    }

    /// Makes the message due after a `Duration`, or at a `Timestamp` or `SystemTime`; the last call counts.
    pub fn due(self, due: impl Into<Due>) -> Self {
        self.set(|push| push.with_due(due))
    }

    /// Replaces the undelivered message under the same key, and makes this one due after `wait`: so the consumer gets
    /// one message, `wait` after the last of many edits (B7). The key has 1 to 256 bytes.
    /// [`at_latest`](Self::at_latest) bounds the wait.
    pub fn debounce(self, key: impl Into<Bytes>, wait: Duration) -> Self {
        self.distinct(key).due(wait)
    }
}
