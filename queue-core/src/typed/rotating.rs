use std::time::Duration;

use super::{Rotating, TypedMessage};
use crate::{Bytes, Insert, Inserted, MessageId, Result, RotatingQueueExt};

impl<T: Sync + 'static> Rotating<T> {
    /// Puts a value at the tail of the ring.
    ///
    /// # Errors
    ///
    /// Those of [`RotatingQueue::insert`](crate::RotatingQueue::insert), and `Codec`.
    pub async fn insert(&self, value: &T) -> Result<MessageId> {
        Ok(self.queue.insert_one(self.encode(value)?).await?.id())
    }

    /// Puts a value at the tail of the ring unless one with this key is in it (T2), so that a
    /// restarted program can insert its whole list again.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert).
    pub async fn insert_keyed(&self, key: impl Into<Bytes> + Send, value: &T) -> Result<Inserted> {
        let item = Insert::new(self.encode(value)?).with_key(key);
        self.queue.insert_one(item).await
    }

    /// Visits the next item that is due, waiting for it up to `timeout`.
    ///
    /// # Errors
    ///
    /// Those of [`RotatingQueueExt::visit`]. A body that does not decode is no error of this call:
    /// its message carries the error.
    pub async fn visit(&self, timeout: Duration) -> Result<Option<TypedMessage<T>>> {
        Ok(self.visit_batch(1, timeout).await?.pop())
    }

    /// Visits up to `max` items, waiting for one up to `timeout`; empty if none was due.
    ///
    /// # Errors
    ///
    /// Those of [`visit`](Self::visit), and `Invalid` if `max` is 0 or over 128.
    pub async fn visit_batch(&self, max: usize, timeout: Duration) -> Result<Vec<TypedMessage<T>>> {
        Ok(self.decode_all(self.queue.visit(max, timeout).await?))
    }
}
