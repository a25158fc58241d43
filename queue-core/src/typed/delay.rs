use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::{Delay, MessageBuilder, Queues, queues::open};
use crate::{
    DelayConfig, DelayQueue, DelayQueueExt, Due, MessageId, Pushed, Rescheduled, Result, Scheduled,
};

impl Queues {
    open! { delay, delay_with, DelayConfig, open_delay, Delay }
    open! { delay_or_reconfigure, DelayConfig, Delay }
}

impl<T: Sync + 'static> Delay<T> {
    /// Puts a value in, due after a `Duration`, or at a `Timestamp` or `SystemTime`.
    ///
    /// # Errors
    ///
    /// The errors of [`DelayQueue::schedule`], and `Codec`.
    pub async fn push(&self, value: &T, due: impl Into<Due> + Send) -> Result<MessageId> {
        let due = due.into();
        Ok(self
            .queue
            .schedule_one(self.encode(value)?, due)
            .await?
            .id())
    }

    /// A message with this value, to which headers and a dedup key can be added before it is sent.
    /// It can be sent once it has a due time: [`delay`](MessageBuilder::delay) or
    /// [`due`](MessageBuilder::due).
    pub fn message(&self, value: &T) -> MessageBuilder<'_, dyn DelayQueue> {
        self.compose(value, ())
    }

    /// Puts any number of values in, each with its due time, split as
    /// [`schedule_all`](DelayQueueExt::schedule_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all(&self, values: &[(T, Due)]) -> Result<Vec<MessageId>> {
        let scheduled = |(value, due): &(T, Due)| Ok(Scheduled::new(self.encode(value)?, *due));
        let scheduled: Vec<_> = values.iter().map(scheduled).collect::<Result<_>>()?;
        let pushed = self.queue.schedule_all(&scheduled).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }

    /// Gives an undelivered message another due time, or says that it is too late (D4).
    ///
    /// # Errors
    ///
    /// The errors of [`DelayQueue::reschedule`].
    pub async fn reschedule(
        &self,
        id: MessageId,
        due: impl Into<Due> + Send,
    ) -> Result<Rescheduled> {
        let due = due.into();
        self.queue.reschedule(id, due).await
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
    pub fn delay(self, delay: Duration) -> MessageBuilder<'a, dyn DelayQueue, Due> {
        self.due(delay)
    }

    /// Makes the message due after a `Duration`, or at a `Timestamp` or `SystemTime`; the last call counts.
    pub fn due(self, due: impl Into<Due>) -> MessageBuilder<'a, dyn DelayQueue, Due> {
        self.on(due.into())
    }
}

impl MessageBuilder<'_, dyn DelayQueue, Due> {
    /// Puts the message in.
    ///
    /// # Errors
    ///
    /// The errors of [`DelayQueue::schedule`], and `Codec`.
    pub async fn send(self) -> Result<Pushed> {
        self.queue.schedule_one(self.push?, self.terms).await
    }
}

super::consumer::upcast!(DelayQueue => Delay);
