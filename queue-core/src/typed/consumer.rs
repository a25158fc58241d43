//! Receiving values from any leasing queue.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use super::{Consumer, Typed, TypedDelivery};
use crate::{Cancelled, Decode, Leasing, LeasingExt, MessageId, Result};

/// A queue of any leasing kind, as a shared pointer that a delivery keeps to settle itself.
pub trait AsLeasing: Leasing {
    #[doc(hidden)]
    fn as_leasing(self: Arc<Self>) -> Arc<dyn Leasing>;
}

/// Lets a leasing kind's handle receive, and convert into a `Consumer`.
macro_rules! upcast {
    ($queue:ident) => {
        impl $crate::typed::consumer::AsLeasing for dyn $crate::$queue {
            fn as_leasing(self: std::sync::Arc<Self>) -> std::sync::Arc<dyn $crate::Leasing> {
                self
            }
        }

        impl<T, C: $crate::Decode<T>> From<$crate::Typed<T, dyn $crate::$queue, C>>
            for $crate::Consumer<T>
        {
            fn from(typed: $crate::Typed<T, dyn $crate::$queue, C>) -> Self {
                typed.into_consumer()
            }
        }

        /// For a worker with a router, and to receive without a worker.
        impl<C> From<$crate::Typed<$crate::Jobs, dyn $crate::$queue, C>>
            for $crate::Consumer<$crate::Bytes>
        {
            fn from(jobs: $crate::Typed<$crate::Jobs, dyn $crate::$queue, C>) -> Self {
                Self {
                    queue: jobs.queue,
                    name: jobs.name,
                    codec: std::sync::Arc::new($crate::Raw),
                    values: std::marker::PhantomData,
                }
            }
        }
    };
}
pub(super) use upcast;

impl AsLeasing for dyn Leasing {
    fn as_leasing(self: Arc<Self>) -> Arc<dyn Leasing> {
        self
    }
}

impl<T> Consumer<T> {
    /// A consumer of any queue, with this codec.
    pub fn of(queue: Arc<dyn Leasing>, codec: impl Decode<T>) -> Self {
        Typed {
            queue,
            name: None,
            codec: Arc::new(codec),
            values: PhantomData,
        }
    }
}

impl<T, Q: AsLeasing + ?Sized, C: Send + Sync + ?Sized> Typed<T, Q, C> {
    /// Leases one message for `lease_time`, waiting for it up to `timeout`.
    ///
    /// Cancel-safe: while the future waits it holds no message (L8). [`LeasingExt`] says how it waits while
    /// the backend fails.
    ///
    /// # Errors
    ///
    /// The errors of [`LeasingExt::receive`]. A body that does not decode is no error of this call: its
    /// delivery carries the error, and the caller can bury it.
    pub async fn receive(
        &self,
        lease_time: Duration,
        timeout: Duration,
    ) -> Result<Option<TypedDelivery<T>>>
    where
        C: Decode<T>,
    {
        Ok(self.receive_batch(1, lease_time, timeout).await?.pop())
    }

    /// Leases up to `max` messages for `lease_time`, waiting for one up to `timeout`; empty if none came.
    ///
    /// # Errors
    ///
    /// The errors of [`receive`](Self::receive), and `Invalid` if `max` is 0 or over 128.
    pub async fn receive_batch(
        &self,
        max: usize,
        lease_time: Duration,
        timeout: Duration,
    ) -> Result<Vec<TypedDelivery<T>>>
    where
        C: Decode<T>,
    {
        let deliveries = self.queue.receive(max, lease_time, timeout).await?;
        let typed = deliveries.into_iter().map(|delivery| {
            let body = self.decode(&delivery.body);
            TypedDelivery::new(body, delivery, Arc::clone(&self.queue).as_leasing())
        });
        Ok(typed.collect())
    }

    /// This queue as a [`Consumer`], for a call that takes any kind and codec. The handles of single kinds also convert by
    /// `into`.
    pub fn into_consumer(self) -> Consumer<T>
    where
        C: Decode<T> + Sized,
    {
        Typed {
            queue: self.queue.as_leasing(),
            name: self.name,
            codec: self.codec,
            values: PhantomData,
        }
    }

    /// Removes an undelivered message for good, or says that it is too late (L15).
    ///
    /// # Errors
    ///
    /// The errors of [`Leasing::cancel`].
    pub async fn cancel(&self, id: MessageId) -> Result<Cancelled> {
        self.queue.cancel_one(id).await
    }
}
