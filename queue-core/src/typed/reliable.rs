use serde::{Serialize, de::DeserializeOwned};

use super::{MessageBuilder, Queues, Reliable, message::MayDelay, queues::open};
use crate::{MessageId, Push, Pushed, ReliableConfig, ReliableQueue, ReliableQueueExt, Result};

impl Queues {
    open! { reliable, reliable_with, ReliableConfig, open_reliable, Reliable }
    open! { reliable_or_reconfigure, ReliableConfig, Reliable }
}

impl<T: Sync + 'static> Reliable<T> {
    /// Puts a value at the tail.
    ///
    /// # Errors
    ///
    /// The errors of [`ReliableQueue::push`], and `Codec`.
    pub async fn push(&self, value: &T) -> Result<MessageId> {
        Ok(self.queue.push_one(self.encode(value)?).await?.id())
    }

    /// A message with this value, to which headers and a dedup key can be added before it is sent.
    pub fn message(&self, value: &T) -> MessageBuilder<'_, dyn ReliableQueue> {
        self.compose(value, ())
    }

    /// Puts any number of values at the tail, split as
    /// [`push_all`](ReliableQueueExt::push_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all(&self, values: &[T]) -> Result<Vec<MessageId>> {
        let push = |value| Ok(Push::new(self.encode(value)?));
        let pushes: Vec<Push> = values.iter().map(push).collect::<Result<_>>()?;
        let pushed = self.queue.push_all(&pushes).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }
}

impl MessageBuilder<'_, dyn ReliableQueue> {
    /// Puts the message at the tail.
    ///
    /// # Errors
    ///
    /// The errors of [`ReliableQueue::push`], and `Codec`.
    pub async fn send(self) -> Result<Pushed> {
        self.queue.push_one(self.push?).await
    }
}

impl MayDelay for dyn ReliableQueue {}

super::consumer::upcast!(ReliableQueue => Reliable);
