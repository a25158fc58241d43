use super::{MessageBuilder, Reliable, Takes, accepted, message::MayDelay};
use crate::{Encode, LeasingExt, MessageId, Push, ReliableQueue, Result};

impl<T, C: Send + Sync + ?Sized> Reliable<T, C> {
    /// Puts a value at the tail.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push), and of [`encode`](Self::encode).
    pub async fn push<V: Sync + ?Sized>(&self, value: &V) -> Result<MessageId>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        accepted(self.queue.push_one(self.encode(value)?).await?)
    }

    /// A message with this value, to which headers, a dedup key and other options can be added before it is sent.
    pub fn message<V: ?Sized>(&self, value: &V) -> MessageBuilder<'_, dyn ReliableQueue>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        self.compose(value)
    }

    /// Puts any number of values at the tail, split as [`push_all`](LeasingExt::push_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<V: Sync>(&self, values: &[V]) -> Result<Vec<MessageId>>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let pushes: Result<Vec<Push>> = values.iter().map(|value| self.encode(value)).collect();
        self.push_encoded(&pushes?).await
    }
}

impl MayDelay for dyn ReliableQueue {}

super::consumer::upcast!(ReliableQueue);
