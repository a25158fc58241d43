//! Receiving values from any leasing queue.

use std::{sync::Arc, time::Duration};

use super::{Typed, TypedDelivery};
use crate::{Cancelled, Leasing, LeasingExt, MessageId, Result};

/// A queue of any leasing kind, as a shared pointer that a delivery keeps to settle itself.
pub trait AsLeasing: Leasing {
    #[doc(hidden)]
    fn as_leasing(self: Arc<Self>) -> Arc<dyn Leasing>;
}

/// Lets a leasing kind's handle receive, and convert into a `Consumer`.
macro_rules! upcast {
    ($queue:ident => $typed:ident) => {
        impl $crate::typed::consumer::AsLeasing for dyn $crate::$queue {
            fn as_leasing(self: std::sync::Arc<Self>) -> std::sync::Arc<dyn $crate::Leasing> {
                self
            }
        }

        impl<T> From<$crate::$typed<T>> for $crate::Consumer<T> {
            fn from(typed: $crate::$typed<T>) -> Self {
                Self {
                    queue: typed.queue,
                    name: typed.name,
                    codec: typed.codec,
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

impl<T: Send + 'static, Q: AsLeasing + ?Sized> Typed<T, Q> {
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
    ) -> Result<Option<TypedDelivery<T>>> {
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
    ) -> Result<Vec<TypedDelivery<T>>> {
        let deliveries = self.queue.receive(max, lease_time, timeout).await?;
        let typed = deliveries.into_iter().map(|delivery| {
            let body = self.decode(&delivery.body);
            TypedDelivery::new(body, delivery, Arc::clone(&self.queue).as_leasing())
        });
        Ok(typed.collect())
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
