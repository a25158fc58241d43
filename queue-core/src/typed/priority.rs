use serde::{Serialize, de::DeserializeOwned};

use super::{MessageBuilder, Priority, Queues, message::MayDelay, queues::open};
use crate::{
    MessageId, Prioritized, PriorityConfig, PriorityQueue, PriorityQueueExt, Pushed, Result,
};

impl Queues {
    open! { priority, priority_with, PriorityConfig, open_priority, Priority }
    open! { priority_or_reconfigure, PriorityConfig, Priority }
}

impl<T: Sync + 'static> Priority<T> {
    /// Puts a value in; a larger priority is more urgent, 0 is ordinary.
    ///
    /// # Errors
    ///
    /// The errors of [`PriorityQueue::enqueue`], and `Codec`.
    pub async fn push(&self, value: &T, priority: i16) -> Result<MessageId> {
        let pushed = self
            .queue
            .enqueue_one(self.encode(value)?, priority)
            .await?;
        Ok(pushed.id())
    }

    /// A message with this value, to which headers, a dedup key and a priority can be added before
    /// it is sent; without a priority it is ordinary, 0.
    pub fn message(&self, value: &T) -> MessageBuilder<'_, dyn PriorityQueue, i16> {
        self.compose(value, 0)
    }

    /// Puts any number of values in, each with its priority, split as
    /// [`enqueue_all`](PriorityQueueExt::enqueue_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all(&self, values: &[(T, i16)]) -> Result<Vec<MessageId>> {
        let prioritized =
            |(value, priority): &(T, i16)| Ok(Prioritized::new(self.encode(value)?, *priority));
        let prioritized: Vec<_> = values.iter().map(prioritized).collect::<Result<_>>()?;
        let pushed = self.queue.enqueue_all(&prioritized).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }
}

impl MessageBuilder<'_, dyn PriorityQueue, i16> {
    /// Sets its priority; a larger one is more urgent.
    ///
    /// ```
    /// # async fn example(tickets: queue_core::Priority<u64>) -> queue_core::Result<()> {
    /// tickets.message(&1).send().await?;
    /// tickets.message(&2).header("tenant", "acme").priority(10).send().await?; // it goes first
    /// # Ok(())
    /// # }
    /// ```
    pub fn priority(mut self, priority: i16) -> Self {
        self.terms = priority;
        self
    }

    /// Puts the message in.
    ///
    /// # Errors
    ///
    /// The errors of [`PriorityQueue::enqueue`], and `Codec`.
    pub async fn send(self) -> Result<Pushed> {
        self.queue.enqueue_one(self.push?, self.terms).await
    }
}

impl MayDelay for dyn PriorityQueue {}

super::consumer::upcast!(PriorityQueue => Priority);
