//! Receiving values from any leasing queue.

use std::{sync::Arc, time::Duration};

use super::{Bounded, Consumer, Delay, Priority, Reliable, Typed, TypedDelivery};
use crate::{BoundedQueue, DelayQueue, Leasing, LeasingExt, PriorityQueue, ReliableQueue, Result};

/// A queue of any leasing kind, as a shared pointer that a delivery keeps to settle itself.
pub trait AsLeasing: Leasing {
    #[doc(hidden)]
    fn as_leasing(self: Arc<Self>) -> Arc<dyn Leasing>;
}

macro_rules! upcast {
    ($($kind:ident => $typed:ident),*) => {$(
        impl AsLeasing for dyn $kind {
            fn as_leasing(self: Arc<Self>) -> Arc<dyn Leasing> {
                self
            }
        }

        impl<T> From<$typed<T>> for Consumer<T> {
            fn from(typed: $typed<T>) -> Self {
                Self { queue: typed.queue, name: typed.name, codec: typed.codec }
            }
        }
    )*};
}

upcast!(
    ReliableQueue => Reliable,
    DelayQueue => Delay,
    PriorityQueue => Priority,
    BoundedQueue => Bounded
);

impl AsLeasing for dyn Leasing {
    fn as_leasing(self: Arc<Self>) -> Arc<dyn Leasing> {
        self
    }
}

impl<T: Send + 'static, Q: AsLeasing + ?Sized> Typed<T, Q> {
    /// Leases one message for `ttl`, waiting for it up to `timeout`.
    ///
    /// Cancel-safe: while it waits it holds no message (L8). [`LeasingExt`] says how it waits while
    /// the backend fails.
    ///
    /// # Errors
    ///
    /// Those of [`LeasingExt::receive`]. A body that does not decode is no error of this call: its
    /// delivery carries the error, and the caller can bury it.
    pub async fn receive(
        &self,
        ttl: Duration,
        timeout: Duration,
    ) -> Result<Option<TypedDelivery<T>>> {
        Ok(self.receive_batch(1, ttl, timeout).await?.pop())
    }

    /// Leases up to `max` messages for `ttl`, waiting for one up to `timeout`; empty if none came.
    ///
    /// # Errors
    ///
    /// Those of [`receive`](Self::receive), and `Invalid` if `max` is 0 or over 128.
    pub async fn receive_batch(
        &self,
        max: usize,
        ttl: Duration,
        timeout: Duration,
    ) -> Result<Vec<TypedDelivery<T>>> {
        let deliveries = self.queue.receive(max, ttl, timeout).await?;
        let typed = deliveries.into_iter().map(|delivery| {
            let body = self.decode(&delivery.body);
            TypedDelivery::new(body, delivery, Arc::clone(&self.queue).as_leasing())
        });
        Ok(typed.collect())
    }
}
