use std::time::Duration;

use super::{MessageBuilder, Rotating, Takes, TypedMessage};
use crate::{
    Bytes, Decode, Encode, Insert, Inserted, MessageId, Result, RotatingQueue, RotatingQueueExt,
};

impl<T, C: Send + Sync + ?Sized> Rotating<T, C> {
    /// Puts a value at the tail of the ring.
    ///
    /// # Errors
    ///
    /// The errors of [`RotatingQueue::insert`], and of [`encode`](Self::encode).
    pub async fn push<V: Sync + ?Sized>(&self, value: &V) -> Result<MessageId>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        Ok(self.message(value).send().await?.id())
    }

    /// An item with this value, to which headers and a key can be added before it is sent.
    pub fn message<V: ?Sized>(&self, value: &V) -> MessageBuilder<'_, dyn RotatingQueue, Key>
    where
        T: Takes<V>,
        C: Encode<V>,
    {
        self.compose(value).on(Key(None))
    }

    /// Visits the next item that is due, waiting for it up to `timeout`.
    ///
    /// # Errors
    ///
    /// The errors of [`RotatingQueueExt::visit`]. A body that does not decode is no error of this call:
    /// its message carries the error.
    pub async fn visit(&self, timeout: Duration) -> Result<Option<TypedMessage<T>>>
    where
        C: Decode<T>,
    {
        Ok(self.visit_batch(1, timeout).await?.pop())
    }

    /// Visits up to `max` items, waiting for one up to `timeout`; empty if none was due.
    ///
    /// # Errors
    ///
    /// The errors of [`visit`](Self::visit), and `Invalid` if `max` is 0 or over 128.
    pub async fn visit_batch(&self, max: usize, timeout: Duration) -> Result<Vec<TypedMessage<T>>>
    where
        C: Decode<T>,
    {
        Ok(self.decode_all(self.queue.visit(max, timeout).await?))
    }
}

/// The key of an item in a ring, if it has one.
#[derive(Debug)]
pub struct Key(Option<Bytes>);

impl MessageBuilder<'_, dyn RotatingQueue, Key> {
    /// Names the item, in 1 to 256 bytes. While an item with this key is in the ring, sending it again
    /// changes nothing (T2). So a restarted program can send its whole list again.
    ///
    /// ```
    /// # async fn example(sensors: queue_core::Rotating<String>) -> queue_core::Result<()> {
    /// for sensor in ["north", "south"] {
    ///     sensors.message(sensor).key(sensor).send().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.terms = Key(Some(key.into()));
        self
    }

    /// Puts the item at the tail of the ring.
    ///
    /// # Errors
    ///
    /// The errors of [`RotatingQueue::insert`], and of the codec.
    pub async fn send(self) -> Result<Inserted> {
        let push = self.push?;
        let item = Insert::new(push.body).with_headers(push.headers);
        let item = match self.terms.0 {
            Some(key) => item.with_key(key),
            None => item,
        };
        self.queue.insert_one(item).await
    }
}
