use super::Delay;
use crate::{
    Cancelled, Dedup, DelayQueueExt, Due, MessageId, Push, Pushed, Rescheduled, Result, Scheduled,
};

impl<T: Sync + 'static> Delay<T> {
    /// Puts a value in, due after a `Duration`, or at a `Timestamp` or `SystemTime`.
    ///
    /// # Errors
    ///
    /// Those of [`DelayQueue::schedule`](crate::DelayQueue::schedule), and `Codec`.
    pub async fn push(&self, value: &T, due: impl Into<Due> + Send) -> Result<MessageId> {
        let due = due.into();
        Ok(self
            .queue
            .schedule_one(self.encode(value)?, due)
            .await?
            .id())
    }

    /// Puts a value in unless this dedup key was pushed within the window (L9): safe to repeat
    /// after an error of unknown outcome.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub async fn push_once(
        &self,
        value: &T,
        due: impl Into<Due> + Send,
        dedup: Dedup,
    ) -> Result<Pushed> {
        let due = due.into();
        let mut push = Push::new(self.encode(value)?);
        push.dedup = Some(dedup);
        self.queue.schedule_one(push, due).await
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

    /// Takes an undelivered message out, or says that it is too late (D4).
    ///
    /// # Errors
    ///
    /// Those of [`DelayQueue::cancel`](crate::DelayQueue::cancel).
    pub async fn cancel(&self, id: MessageId) -> Result<Cancelled> {
        self.queue.cancel_one(id).await
    }

    /// Gives an undelivered message another due time, or says that it is too late (D4).
    ///
    /// # Errors
    ///
    /// Those of [`DelayQueue::reschedule`](crate::DelayQueue::reschedule).
    pub async fn reschedule(
        &self,
        id: MessageId,
        due: impl Into<Due> + Send,
    ) -> Result<Rescheduled> {
        let due = due.into();
        self.queue.reschedule(id, due).await
    }
}

super::consumer::upcast!(DelayQueue => Delay);
