use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::{Delay, MessageBuilder, Queues, queues::open};
use crate::{
    DelayConfig, DelayQueue, DelayQueueExt, Due, MessageId, Pushed, Rescheduled, Result, Scheduled,
};

impl Queues {
    /// Opens a delay queue with the default configuration.
    ///
    /// # Errors
    ///
    /// Those of [`delay_with`](Self::delay_with).
    pub async fn delay<T>(&self, name: &str) -> Result<Delay<T>>
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        self.delay_with(name, &DelayConfig::default()).await
    }

    open!(
        /// Opens a delay queue.
        delay_with, DelayConfig, open_delay, Delay
    );
}

impl<T: Sync + 'static> Delay<T> {
    /// Puts a value in, due after a `Duration`, or at a `Timestamp` or `SystemTime`.
    ///
    /// # Errors
    ///
    /// Those of [`DelayQueue::schedule`], and `Codec`.
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
    /// Those of [`push`](Self::push).
    pub async fn push_all(&self, values: &[(T, Due)]) -> Result<Vec<MessageId>> {
        let bodies = self.encode_all(values.iter().map(|(value, _)| value))?;
        let dues = values.iter().map(|(_, due)| *due);
        let scheduled: Vec<_> = bodies
            .into_iter()
            .zip(dues)
            .map(|(body, due)| Scheduled::new(body, due))
            .collect();
        let pushed = self.queue.schedule_all(&scheduled).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }

    /// Gives an undelivered message another due time, or says that it is too late (D4).
    ///
    /// # Errors
    ///
    /// Those of [`DelayQueue::reschedule`].
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
    /// Makes it due this long after the queue accepts it.
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

    /// Makes it due after a `Duration`, or at a `Timestamp` or `SystemTime`; the last word counts.
    pub fn due(self, due: impl Into<Due>) -> MessageBuilder<'a, dyn DelayQueue, Due> {
        self.on(due.into())
    }
}

impl MessageBuilder<'_, dyn DelayQueue, Due> {
    /// Puts the message in.
    ///
    /// # Errors
    ///
    /// Those of [`DelayQueue::schedule`], and `Codec`.
    pub async fn send(self) -> Result<Pushed> {
        self.queue.schedule_one(self.push?, self.terms).await
    }
}

super::consumer::upcast!(DelayQueue => Delay);
