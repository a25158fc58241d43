use std::time::Duration;

use super::{
    Bounded, MessageBuilder, Takes, TypedMessage,
    message::{MayDelay, NoPolicy},
};
use crate::{BoundedQueue, BoundedQueueExt, Decode, Encode, LeasingExt, Overflow, Pushed, Result};

impl<T, C: Send + Sync + ?Sized> Bounded<T, C> {
    /// Puts a value at the tail; where there is no room, `overflow` decides (B2, B3).
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push), and of [`encode`](Self::encode). A full queue is no error:
    /// the result is [`Pushed::Full`].
    pub async fn push<V: Sync + ?Sized>(&self, value: &V, overflow: Overflow) -> Result<Pushed>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        let push = self.encode(value)?.with_overflow(overflow);
        self.queue.push_one(push).await
    }

    /// A message with this value, to which headers, a dedup key and other options can be added before it is
    /// sent. It can be sent once it has a policy for a full queue: [`overflow`](MessageBuilder::overflow) or
    /// [`wait`](MessageBuilder::wait).
    pub fn message<V: ?Sized>(&self, value: &V) -> MessageBuilder<'_, dyn BoundedQueue, NoPolicy>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        self.compose(value).on(NoPolicy)
    }

    /// The newest values, newest first, at most `n`, taking nothing (B6).
    ///
    /// # Errors
    ///
    /// The errors of [`BoundedQueue::recent`]. A body that does not decode is no error of this call: its
    /// message carries the error.
    pub async fn recent(&self, n: usize) -> Result<Vec<TypedMessage<T>>>
    where
        C: Decode<T>,
    {
        Ok(self.decode_all(self.queue.recent(n).await?))
    }
}

impl<'a, Terms> MessageBuilder<'a, dyn BoundedQueue, Terms> {
    /// Where there is no room, `overflow` decides (B2, B3).
    pub fn overflow(self, overflow: Overflow) -> MessageBuilder<'a, dyn BoundedQueue> {
        self.set(|push| push.with_overflow(overflow)).on(())
    }

    /// Where there is no room, `send` waits for it up to `timeout` (B4); it returns [`Pushed::Full`] if no
    /// room came.
    ///
    /// ```
    /// use std::time::Duration;
    /// use queue_core::{Bounded, Pushed};
    ///
    /// # async fn example(gifts: Bounded<String>) -> queue_core::Result<()> {
    /// let gift = gifts.message("a hat").wait(Duration::from_secs(1));
    /// if gift.send().await? == Pushed::Full {
    ///     println!("nobody made room");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait(self, timeout: Duration) -> MessageBuilder<'a, dyn BoundedQueue, Duration> {
        self.on(timeout)
    }
}

impl MessageBuilder<'_, dyn BoundedQueue> {
    /// Puts the message at the tail, if there is room or the policy makes room.
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::push`](crate::Leasing::push), and of the codec. A full queue is no error: the result is
    /// [`Pushed::Full`].
    pub async fn send(self) -> Result<Pushed> {
        self.queue.push_one(self.push?).await
    }
}

impl MessageBuilder<'_, dyn BoundedQueue, Duration> {
    /// Puts the message at the tail, as soon as there is room.
    ///
    /// Dropping the future while it waits leaves nothing behind;
    /// [`push_or_wait`](BoundedQueueExt::push_or_wait) says what else may happen.
    ///
    /// # Errors
    ///
    /// The errors of [`push_or_wait`](BoundedQueueExt::push_or_wait), and of the codec.
    pub async fn send(self) -> Result<Pushed> {
        self.queue.push_or_wait(self.push?, self.terms).await
    }
}

impl MayDelay for dyn BoundedQueue {}

super::consumer::upcast!(BoundedQueue);
