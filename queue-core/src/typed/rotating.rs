use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::{MessageBuilder, Queues, Rotating, TypedMessage, queues::open};
use crate::{
    Bytes, Insert, Inserted, MessageId, Push, Result, RotatingConfig, RotatingQueue,
    RotatingQueueExt,
};

impl Queues {
    open! { rotating, rotating_with, RotatingConfig, open_rotating, Rotating }
    open! { rotating_or_reconfigure, RotatingConfig, Rotating }
}

impl<T: Sync + 'static> Rotating<T> {
    /// Puts a value at the tail of the ring.
    ///
    /// # Errors
    ///
    /// The errors of [`RotatingQueue::insert`], and `Codec`.
    pub async fn push(&self, value: &T) -> Result<MessageId> {
        Ok(self.queue.insert_one(self.encode(value)?).await?.id())
    }

    /// An item with this value, to which headers and a key can be added before it is sent.
    pub fn message(&self, value: &T) -> MessageBuilder<'_, dyn RotatingQueue> {
        self.compose(value, ())
    }

    /// Visits the next item that is due, waiting for it up to `timeout`.
    ///
    /// # Errors
    ///
    /// The errors of [`RotatingQueueExt::visit`]. A body that does not decode is no error of this call:
    /// its message carries the error.
    pub async fn visit(&self, timeout: Duration) -> Result<Option<TypedMessage<T>>> {
        Ok(self.visit_batch(1, timeout).await?.pop())
    }

    /// Visits up to `max` items, waiting for one up to `timeout`; empty if none was due.
    ///
    /// # Errors
    ///
    /// The errors of [`visit`](Self::visit), and `Invalid` if `max` is 0 or over 128.
    pub async fn visit_batch(&self, max: usize, timeout: Duration) -> Result<Vec<TypedMessage<T>>> {
        Ok(self.decode_all(self.queue.visit(max, timeout).await?))
    }
}

impl MessageBuilder<'_, dyn RotatingQueue> {
    /// Names the item, in 1 to 256 bytes. While an item with this key is in the ring, sending it again
    /// changes nothing (T2). So a restarted program can send its whole list again.
    ///
    /// ```
    /// # async fn example(sensors: queue_core::Rotating<String>) -> queue_core::Result<()> {
    /// for sensor in ["north", "south"] {
    ///     sensors.message(&sensor.to_owned()).key(sensor).send().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Puts the item at the tail of the ring.
    ///
    /// # Errors
    ///
    /// The errors of [`RotatingQueue::insert`], and `Codec`.
    pub async fn send(self) -> Result<Inserted> {
        let Push { body, headers, .. } = self.push?;
        let item = Insert {
            body,
            headers,
            key: self.key,
        };
        self.queue.insert_one(item).await
    }
}
