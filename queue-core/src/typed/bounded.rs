use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};

use super::{Bounded, MessageBuilder, Queues, TypedMessage, message::MayDelay, queues::open};
use crate::{
    BoundedConfig, BoundedQueue, BoundedQueueExt, Bytes, Offer, Offered, Overflow, Result,
};

impl Queues {
    /// Opens a bounded queue of this fixed length, otherwise with the default configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`bounded_with`](Self::bounded_with).
    pub async fn bounded<T>(&self, name: &str, capacity: usize) -> Result<Bounded<T>>
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        self.bounded_with(name, &BoundedConfig::new(capacity)).await
    }

    open! {
        /// Opens a bounded queue.
        bounded_with, BoundedConfig, open_bounded, Bounded
    }

    open! {
        /// Opens a bounded queue and gives it this capacity; where the queue shrinks, it drops the
        /// oldest messages.
        bounded_or_resize, BoundedConfig, open_or_resize, Bounded
    }

    open! { bounded_or_reconfigure, BoundedConfig, Bounded }
}

impl<T: Sync + 'static> Bounded<T> {
    /// Puts a value at the tail; where there is no room, `overflow` decides (B2, B3).
    ///
    /// # Errors
    ///
    /// The errors of [`BoundedQueue::offer`], and `Codec`.
    pub async fn push(&self, value: &T, overflow: Overflow) -> Result<Offered> {
        self.queue.offer_one(self.encode(value)?, overflow).await
    }

    /// A message with this value, to which headers, a dedup key and a distinct key can be added before it is
    /// sent. It can be sent once it has a policy for a full queue: [`overflow`](MessageBuilder::overflow) or
    /// [`wait`](MessageBuilder::wait).
    pub fn message(&self, value: &T) -> MessageBuilder<'_, dyn BoundedQueue> {
        self.compose(value, ())
    }

    /// The newest values, newest first, at most `n`, taking nothing (B6).
    ///
    /// # Errors
    ///
    /// The errors of [`BoundedQueue::recent`]. A body that does not decode is no error of this call: its
    /// message carries the error.
    pub async fn recent(&self, n: usize) -> Result<Vec<TypedMessage<T>>> {
        Ok(self.decode_all(self.queue.recent(n).await?))
    }
}

impl<'a, Terms> MessageBuilder<'a, dyn BoundedQueue, Terms> {
    /// Replaces the undelivered message under the same key, also when the queue is full (B7). A key
    /// has 1 to 256 bytes.
    ///
    /// ```
    /// use queue_core::{Bounded, Offered, Overflow};
    ///
    /// # async fn example(prices: Bounded<f64>) -> queue_core::Result<()> {
    /// prices.message(&9.5).distinct("lamp").overflow(Overflow::DropOldest).send().await?;
    /// let newer = prices.message(&9.0).distinct("lamp").overflow(Overflow::DropOldest);
    /// assert!(matches!(newer.send().await?, Offered::Replaced { .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub fn distinct(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Where there is no room, `overflow` decides (B2, B3).
    pub fn overflow(self, overflow: Overflow) -> MessageBuilder<'a, dyn BoundedQueue, Overflow> {
        self.on(overflow)
    }

    /// Where there is no room, `send` waits for it up to `timeout` (B4); it returns [`Offered::Full`] if no
    /// room came.
    ///
    /// ```
    /// use std::time::Duration;
    /// use queue_core::{Bounded, Offered};
    ///
    /// # async fn example(gifts: Bounded<String>) -> queue_core::Result<()> {
    /// let gift = gifts.message(&"a hat".to_owned()).wait(Duration::from_secs(1));
    /// if gift.send().await? == Offered::Full {
    ///     println!("nobody made room");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait(self, timeout: Duration) -> MessageBuilder<'a, dyn BoundedQueue, Duration> {
        self.on(timeout)
    }
}

impl MessageBuilder<'_, dyn BoundedQueue, Overflow> {
    /// Puts the message at the tail, if there is room or the policy makes room.
    ///
    /// # Errors
    ///
    /// The errors of [`BoundedQueue::offer`], and `Codec`. A full queue is no error: the result is
    /// [`Offered::Full`].
    pub async fn send(self) -> Result<Offered> {
        let offer = Offer {
            push: self.push?,
            distinct: self.key,
        };
        self.queue.offer_one(offer, self.terms).await
    }
}

impl MessageBuilder<'_, dyn BoundedQueue, Duration> {
    /// Puts the message at the tail, as soon as there is room.
    ///
    /// Dropping the future while it waits leaves nothing behind;
    /// [`offer_or_wait`](BoundedQueueExt::offer_or_wait) says what else may happen.
    ///
    /// # Errors
    ///
    /// The errors of [`offer_or_wait`](BoundedQueueExt::offer_or_wait), and `Codec`.
    pub async fn send(self) -> Result<Offered> {
        let offer = Offer {
            push: self.push?,
            distinct: self.key,
        };
        self.queue.offer_or_wait(offer, self.terms).await
    }
}

impl MayDelay for dyn BoundedQueue {}

super::consumer::upcast!(BoundedQueue => Bounded);
