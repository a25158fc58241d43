//! Messages with more than a value.

use std::time::Duration;

use super::Typed;
use crate::{Bytes, Due, Headers, Leasing, Push, Result, TimeToLive};

/// A message that is not sent yet, made by `message` of a typed handle: a value, headers, and the settings
/// that its kind of queue takes.
///
/// ```
/// use std::time::Duration;
/// use queue_core::{Delay, Priority, Pushed, Reliable};
///
/// const DAY: Duration = Duration::from_secs(24 * 60 * 60);
///
/// # async fn example(
/// #     mails: Reliable<String>,
/// #     reminders: Delay<u64>,
/// #     tickets: Priority<String>,
/// # ) -> queue_core::Result<()> {
/// let mail = mails.message(&"to: ann".to_owned()).header("tenant", "acme");
/// match mail.dedup("welcome-ann", DAY).send().await? {
///     Pushed::Accepted(id) => println!("message {id}"),
///     Pushed::Duplicate(first) => println!("message {first} was the same"),
/// }
/// reminders.message(&42).header("tenant", "acme").delay(DAY).send().await?;
/// tickets.message(&"the site is down".to_owned()).priority(10).send().await?;
/// # Ok(())
/// # }
/// ```
///
/// A message has only the settings of its kind:
///
/// | kind | besides headers |
/// | --- | --- |
/// | reliable, and every kind below but the ring | a dedup key, or a unique one; a due time; a time to live |
/// | delay | cannot do without the due time |
/// | priority | a priority, 0 if it says none |
/// | grouped | the key of its group, which it cannot do without |
/// | bounded | a distinct key; the policy for a full queue, which it cannot do without |
/// | rotating | the item's key |
///
/// A reliable queue, for one, knows no priority:
///
/// ```compile_fail,E0599
/// # use queue_core::Reliable;
/// # async fn example(mails: Reliable<String>) -> queue_core::Result<()> {
/// mails.message(&"to: ann".to_owned()).priority(10).send().await?;
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
    /// The distinct key in a bounded queue, and an item's key in a ring.
    pub(super) key: Option<Bytes>,
    /// The setting of this kind alone; `()` until it is set.
    pub(super) terms: Terms,
}

impl<T: 'static, Q: ?Sized> Typed<T, Q> {
    pub(super) fn compose<Terms>(&self, value: &T, terms: Terms) -> MessageBuilder<'_, Q, Terms> {
        MessageBuilder {
            queue: &*self.queue,
            push: self.encode(value).map(Push::new),
            key: None,
            terms,
        }
    }
}

impl<'a, Q: ?Sized, Terms> MessageBuilder<'a, Q, Terms> {
    /// Adds a header; one of the same name is replaced.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.push = self.push.map(|push| push.with_header(name, value));
        self
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
    pub fn headers(mut self, headers: Headers) -> Self {
        self.push = self.push.map(|push| {
            let headers = match push.headers.job() {
                Some(job) => headers.with_job(job),
                None => headers,
            };
            push.with_headers(headers)
        });
        self
    }

    pub(super) fn on<New>(self, terms: New) -> MessageBuilder<'a, Q, New> {
        MessageBuilder {
            queue: self.queue,
            push: self.push,
            key: self.key,
            terms,
        }
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
    pub fn dedup(mut self, key: impl Into<Bytes>, window: Duration) -> Self {
        self.push = self.push.map(|push| push.with_dedup(key, window));
        self
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
    pub fn unique(mut self, key: impl Into<Bytes>, longest: Duration) -> Self {
        self.push = self.push.map(|push| push.with_unique(key, longest));
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

    fn live(mut self, time_to_live: TimeToLive) -> Self {
        self.push = self.push.map(|push| push.with_time_to_live(time_to_live));
        self
    }
}

/// A kind of queue whose messages may have a due time.
#[doc(hidden)]
pub trait MayDelay {}

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
    pub fn due(mut self, due: impl Into<Due>) -> Self {
        self.push = self.push.map(|push| push.with_due(due));
        self
    }
}
