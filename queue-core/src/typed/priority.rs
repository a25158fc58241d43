use super::Priority;
use crate::{Dedup, MessageId, Prioritized, PriorityQueueExt, Push, Pushed, Result};

impl<T: Sync + 'static> Priority<T> {
    /// Puts a value in; a larger priority is more urgent, 0 is ordinary.
    ///
    /// # Errors
    ///
    /// Those of [`PriorityQueue::enqueue`](crate::PriorityQueue::enqueue), and `Codec`.
    pub async fn push(&self, value: &T, priority: i16) -> Result<MessageId> {
        let pushed = self
            .queue
            .enqueue_one(self.encode(value)?, priority)
            .await?;
        Ok(pushed.id())
    }

    /// Puts a value in unless this dedup key was pushed within the window (L9): safe to repeat
    /// after an error of unknown outcome.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub async fn push_once(&self, value: &T, priority: i16, dedup: Dedup) -> Result<Pushed> {
        let mut push = Push::new(self.encode(value)?);
        push.dedup = Some(dedup);
        self.queue.enqueue_one(push, priority).await
    }

    /// Puts any number of values in, each with its priority, split as
    /// [`enqueue_all`](PriorityQueueExt::enqueue_all) splits them.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub async fn push_all(&self, values: &[(T, i16)]) -> Result<Vec<MessageId>> {
        let bodies = self.encode_all(values.iter().map(|(value, _)| value))?;
        let priorities = values.iter().map(|(_, priority)| *priority);
        let prioritized: Vec<_> = bodies
            .into_iter()
            .zip(priorities)
            .map(|(body, priority)| Prioritized::new(body, priority))
            .collect();
        let pushed = self.queue.enqueue_all(&prioritized).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }
}

super::consumer::upcast!(PriorityQueue => Priority);
