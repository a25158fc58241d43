use super::{MessageBuilder, Priority, Takes, accepted, message::MayDelay};
use crate::{Encode, LeasingExt, MessageId, PriorityQueue, Push, Result};

impl<T, C: Send + Sync + ?Sized> Priority<T, C> {
    /// Puts a value in; a larger priority is more urgent, 0 is ordinary.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push), and of [`encode`](Self::encode).
    pub async fn push<V: Sync + ?Sized>(&self, value: &V, priority: i16) -> Result<MessageId>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let push = self.encode(value)?.with_priority(priority);
        accepted(self.queue.push_one(push).await?)
    }

    /// A message with this value, to which headers, a priority and other options can be added before it is sent; without
    /// a priority it is ordinary, 0.
    pub fn message<V: ?Sized>(&self, value: &V) -> MessageBuilder<'_, dyn PriorityQueue>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        self.compose(value)
    }

    /// Puts any number of values in, each with its priority, split as [`push_all`](LeasingExt::push_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<V: Sync>(&self, values: &[(V, i16)]) -> Result<Vec<MessageId>>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let push = |(value, priority): &(V, i16)| Ok(self.encode(value)?.with_priority(*priority));
        let pushes: Result<Vec<Push>> = values.iter().map(push).collect();
        self.push_encoded(&pushes?).await
    }
}

impl MessageBuilder<'_, dyn PriorityQueue> {
    /// Sets its priority; a larger one is more urgent.
    ///
    /// ```
    /// # async fn example(tickets: queue_core::Priority<u64>) -> queue_core::Result<()> {
    /// tickets.message(&1).send().await?;
    /// tickets.message(&2).header("tenant", "acme").priority(10).send().await?; // it goes first
    /// # Ok(())
    /// # }
    /// ```
    pub fn priority(self, priority: i16) -> Self {
        self.set(|push| push.with_priority(priority))
    }
}

impl MayDelay for dyn PriorityQueue {}

super::consumer::upcast!(PriorityQueue);
