use std::time::Duration;

use super::{Bounded, TypedMessage};
use crate::{BoundedQueueExt, Bytes, Offer, Offered, Overflow, Result};

impl<T: Sync + 'static> Bounded<T> {
    /// Puts a value at the tail; where there is no room, `overflow` decides (B2, B3).
    ///
    /// # Errors
    ///
    /// Those of [`BoundedQueue::offer`](crate::BoundedQueue::offer), and `Codec`.
    pub async fn push(&self, value: &T, overflow: Overflow) -> Result<Offered> {
        self.queue.offer_one(self.encode(value)?, overflow).await
    }

    /// Puts a value at the tail, waiting for room up to `timeout` (B4); [`Offered::Full`] if none
    /// came.
    ///
    /// # Errors
    ///
    /// Those of [`BoundedQueueExt::offer_or_wait`], and `Codec`.
    pub async fn push_or_wait(&self, value: &T, timeout: Duration) -> Result<Offered> {
        self.queue.offer_or_wait(self.encode(value)?, timeout).await
    }

    /// Puts a value at the tail in place of the undelivered one under the same key (B7).
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub async fn push_distinct(
        &self,
        value: &T,
        key: impl Into<Bytes> + Send,
        overflow: Overflow,
    ) -> Result<Offered> {
        let offer = Offer::new(self.encode(value)?).with_distinct(key);
        self.queue.offer_one(offer, overflow).await
    }

    /// The newest values, newest first, at most `n`, taking nothing (B6).
    ///
    /// # Errors
    ///
    /// Those of [`BoundedQueue::recent`](crate::BoundedQueue::recent). A body that does not decode
    /// is no error of this call: its message carries the error.
    pub async fn recent(&self, n: usize) -> Result<Vec<TypedMessage<T>>> {
        Ok(self.decode_all(self.queue.recent(n).await?))
    }
}

super::consumer::upcast!(BoundedQueue => Bounded);
