//! Messages of a typed queue, leased or only read.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    Delivery, Headers, Leasing, LeasingExt, Message, MessageId, Receipt, Result, Settled,
    Settlement,
};

/// A leased message and its decoded value.
///
/// Settle it with one of [`ack`](Self::ack), [`retry`](Self::retry), [`defer`](Self::defer),
/// [`release`](Self::release) and [`bury`](Self::bury). The caller may repeat such a call after an error. If
/// the delivery is dropped unsettled, the message comes back when its lease expires, with the attempt
/// charged.
#[must_use = "an unsettled message comes back when its lease expires"]
pub struct TypedDelivery<T> {
    body: Result<T>,
    delivery: Delivery,
    queue: Arc<dyn Leasing>,
}

impl<T> TypedDelivery<T> {
    pub(super) const fn new(body: Result<T>, delivery: Delivery, queue: Arc<dyn Leasing>) -> Self {
        Self {
            body,
            delivery,
            queue,
        }
    }

    /// The value, or the error of decoding it.
    ///
    /// # Errors
    ///
    /// `Codec`: retry such a message if a newer consumer may decode it, and bury it otherwise.
    pub fn body(&self) -> Result<&T> {
        self.body.as_ref().map_err(Clone::clone)
    }

    /// Splits this into the value and the raw delivery, which can still be settled.
    pub fn into_parts(self) -> (Result<T>, Delivery) {
        (self.body, self.delivery)
    }

    /// The undecoded body.
    pub const fn bytes(&self) -> &Bytes {
        &self.delivery.body
    }

    /// The headers.
    pub const fn headers(&self) -> &Headers {
        &self.delivery.headers
    }

    /// The message's id.
    pub const fn id(&self) -> MessageId {
        self.delivery.receipt.id
    }

    /// The receipt, which settles the message here or elsewhere.
    pub const fn receipt(&self) -> Receipt {
        self.delivery.receipt
    }

    /// Which attempt this is, from 1.
    pub const fn attempt(&self) -> u32 {
        self.delivery.attempt
    }

    /// The reason of the last retry (L14).
    pub fn failure(&self) -> Option<&str> {
        self.delivery.failure.as_deref()
    }

    /// Whether this is the last attempt (L6): if it is retried or its lease expires, the message goes to the dead letters.
    pub const fn is_last_attempt(&self) -> bool {
        self.delivery.last_attempt
    }

    /// The time from the push to this lease, by the backend's clock. `None` if the backend does not store when a message
    /// was pushed, as recipes do not.
    pub const fn age(&self) -> Option<Duration> {
        self.delivery.age
    }

    /// The message's priority, on a priority queue.
    pub const fn priority(&self) -> Option<i16> {
        self.delivery.priority
    }

    /// The key of the message's group, on a grouped queue.
    pub const fn group(&self) -> Option<&Bytes> {
        self.delivery.group.as_ref()
    }

    /// The state that a holder stored with the message (L21).
    pub fn state(&self) -> Option<&Bytes> {
        self.delivery.state.as_deref()
    }

    /// The lease's length, from the moment it was granted.
    pub const fn time_left(&self) -> Duration {
        self.delivery.time_left
    }
}

impl<T: Sync> TypedDelivery<T> {
    /// Settles the message as done: it is gone (L3).
    ///
    /// # Errors
    ///
    /// `LeaseLost` if the lease has ended: somebody else may be at work on the message.
    pub async fn ack(&self) -> Result<()> {
        self.settle(Settlement::ack(self.receipt())).await.map(drop)
    }

    /// Gives a failed message back: it is delivered again after `delay`. The attempt counts; on the last
    /// attempt the result is [`Settled::Dead`].
    ///
    /// # Errors
    ///
    /// `LeaseLost`, as for [`ack`](Self::ack).
    pub async fn retry(&self, delay: Duration) -> Result<Settled> {
        self.settle(Settlement::retry(self.receipt(), delay)).await
    }

    /// [`retry`](Self::retry), with the reason of the failure for the next holder of the message (L14). Only
    /// the first 1,024 bytes of a reason are kept.
    ///
    /// # Errors
    ///
    /// `LeaseLost`, as for [`ack`](Self::ack).
    pub async fn retry_because(
        &self,
        delay: Duration,
        reason: impl Into<String> + Send,
    ) -> Result<Settled> {
        let settlement = Settlement::retry_because(self.receipt(), delay, reason);
        self.settle(settlement).await
    }

    /// Gives the message back because a resource is busy: it is delivered again after `delay`, and the
    /// attempt is refunded.
    ///
    /// # Errors
    ///
    /// `LeaseLost`, as for [`ack`](Self::ack).
    pub async fn defer(&self, delay: Duration) -> Result<()> {
        self.settle(Settlement::defer(self.receipt(), delay))
            .await
            .map(drop)
    }

    /// Gives the message back unworked: it is ready at once, and the attempt is refunded.
    ///
    /// # Errors
    ///
    /// `LeaseLost`, as for [`ack`](Self::ack).
    pub async fn release(&self) -> Result<()> {
        self.settle(Settlement::release(self.receipt()))
            .await
            .map(drop)
    }

    /// Moves a hopeless message to the dead letters, for this reason.
    ///
    /// # Errors
    ///
    /// `LeaseLost`, as for [`ack`](Self::ack).
    pub async fn bury(&self, reason: impl Into<String> + Send) -> Result<()> {
        self.settle(Settlement::bury(self.receipt(), reason))
            .await
            .map(drop)
    }

    /// Sets the deadline to now + `lease_time` (L10).
    ///
    /// # Errors
    ///
    /// `LeaseLost`, as for [`ack`](Self::ack).
    pub async fn extend(&self, lease_time: Duration) -> Result<()> {
        self.queue.extend_one(self.receipt(), lease_time).await
    }

    async fn settle(&self, settlement: Settlement) -> Result<Settled> {
        self.queue.settle_one(settlement).await
    }
}

impl<T: fmt::Debug> fmt::Debug for TypedDelivery<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedDelivery")
            .field("body", &self.body)
            .field("receipt", &self.delivery.receipt)
            .field("attempt", &self.delivery.attempt)
            .finish_non_exhaustive()
    }
}

/// A message that the caller read without taking it, with its decoded value or the error of decoding
/// it.
pub type TypedMessage<T> = Message<Result<T>>;
