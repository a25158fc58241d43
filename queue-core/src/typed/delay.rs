use std::time::Duration;

use super::{Delay, MessageBuilder, Takes, accepted, message::NotDue};
use crate::{Bytes, DelayQueue, Due, Encode, LeasingExt, MessageId, Push, Result};

impl<T, C: Send + Sync + ?Sized> Delay<T, C> {
    /// Puts a value in, due after a `Duration`, or at a `Timestamp` or `SystemTime`.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push), and of [`encode`](Self::encode).
    pub async fn push<V: Sync + ?Sized>(
        &self,
        value: &V,
        due: impl Into<Due> + Send,
    ) -> Result<MessageId>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let push = self.encode(value)?.with_due(due);
        accepted(self.queue.push_one(push).await?)
    }

    /// A message with this value, to which headers, a dedup key and other options can be added before it is sent.
    /// It can be sent once it has a due time: [`delay`](MessageBuilder::delay), [`due`](MessageBuilder::due) or
    /// [`debounce`](MessageBuilder::debounce).
    pub fn message<V: ?Sized>(&self, value: &V) -> MessageBuilder<'_, dyn DelayQueue, NotDue>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        self.compose(value).on(NotDue)
    }

    /// Puts any number of values in, each with its due time, split as [`push_all`](LeasingExt::push_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<V: Sync>(&self, values: &[(V, Due)]) -> Result<Vec<MessageId>>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let push = |(value, due): &(V, Due)| Ok(self.encode(value)?.with_due(*due));
        let pushes: Result<Vec<Push>> = values.iter().map(push).collect();
        self.push_encoded(&pushes?).await
    }
}

impl<'a, Terms> MessageBuilder<'a, dyn DelayQueue, Terms> {
    /// Makes the message due `delay` after the queue accepts it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use queue_core::{Delay, Timestamp};
    ///
    /// # async fn example(reminders: Delay<u64>) -> queue_core::Result<()> {
    /// reminders.message(&1).delay(Duration::from_secs(60)).send().await?;
    /// let new_year = Timestamp::from_millis(1_798_761_600_000);
    /// reminders.message(&2).header("tenant", "acme").due(new_year).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn delay(self, delay: Duration) -> MessageBuilder<'a, dyn DelayQueue> {
        self.due(delay)
    }

    /// Makes the message due after a `Duration`, or at a `Timestamp` or `SystemTime`; the last call counts.
    pub fn due(self, due: impl Into<Due>) -> MessageBuilder<'a, dyn DelayQueue> {
        self.set(|push| push.with_due(due)).on(())
    }

    /// Replaces the undelivered message under the same key, and makes this one due after `wait`: so the consumer gets
    /// one message, `wait` after the last of many edits (B7). The key has 1 to 256 bytes.
    /// [`at_latest`](MessageBuilder::at_latest) bounds the wait.
    pub fn debounce(
        self,
        key: impl Into<Bytes>,
        wait: Duration,
    ) -> MessageBuilder<'a, dyn DelayQueue> {
        self.distinct(key).due(wait)
    }
}

super::consumer::upcast!(DelayQueue);
