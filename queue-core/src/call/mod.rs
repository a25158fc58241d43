//! Calls of the queue traits as data, and the services that answer them.
//!
//! A [`Call`] is one call of one method, with its arguments; an [`Answer`] is what came back. A
//! [`Service`] answers calls. [`AnyQueue`](crate::AnyQueue) makes a service of a queue, and
//! [`Front`] makes a queue of a service. So a [`Layer`] between a caller and its queue sees all
//! verbs of all kinds as one call: it records, counts, delays, encrypts or refuses it. [`Layered`]
//! puts a layer in front of every queue of a backend:
//!
//! ```
//! use std::{sync::{Arc, atomic::{AtomicU64, Ordering}}, time::Duration};
//! use queue_core::{Backend, QueueName, Result, call::{Answer, Call, Layer, Layered, Service}};
//!
//! /// Counts the calls of all queues.
//! #[derive(Debug, Clone, Default)]
//! struct Counting(Arc<AtomicU64>);
//!
//! #[derive(Debug)]
//! struct Counted(Counting, Arc<dyn Service>);
//!
//! impl Layer for Counting {
//!     fn before(&self, _: &QueueName, queue: Arc<dyn Service>) -> Arc<dyn Service> {
//!         Arc::new(Counted(self.clone(), queue))
//!     }
//! }
//!
//! #[async_trait::async_trait]
//! impl Service for Counted {
//!     async fn call(&self, call: Call) -> Result<Answer> {
//!         self.0.0.fetch_add(1, Ordering::Relaxed);
//!         self.1.call(call).await
//!     }
//! }
//!
//! fn counted(backend: Arc<dyn Backend>) -> (Counting, impl Backend) {
//!     let counting = Counting::default();
//!     (counting.clone(), Layered::new(counting, backend))
//! }
//! ```

mod front;
mod layer;

use std::{fmt::Debug, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;

use crate::{
    Cancelled, Counters, DeadLetter, Depth, Due, Extended, Insert, Inserted, Leased, Message,
    MessageId, Offer, Offered, Overflow, Page, Paged, Prioritized, Push, Pushed, Receipt,
    Rescheduled, Result, Revived, Rotated, Scheduled, Settled, Settlement,
};

pub use self::{
    front::Front,
    layer::{Layer, Layered, Opening},
};

/// Answers calls: a queue, or something in front of one.
#[async_trait]
pub trait Service: Debug + Send + Sync + 'static {
    /// Makes the call. Dropping the future has the effect of dropping the queue method's own.
    ///
    /// # Errors
    ///
    /// Those of the method that the call stands for.
    async fn call(&self, call: Call) -> Result<Answer>;
}

/// One call of a method of the queue traits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented as the method of its name")]
pub enum Call {
    Push(Vec<Push>),
    Schedule(Vec<Scheduled>),
    Cancel(Vec<MessageId>),
    Reschedule(MessageId, Due),
    NextDue,
    Enqueue(Vec<Prioritized>),
    Offer(Vec<Offer>, Overflow),
    WaitForRoom(Duration),
    Recent(usize),
    Capacity,
    Resize(NonZeroUsize),
    /// A call to the backend and not to a queue:
    /// [`open_or_resize`](crate::Backend::open_or_resize). A layer sees it in
    /// [`before_resizing`](Layer::before_resizing); a queue answers it with `Invalid`.
    OpenOrResize(NonZeroUsize),
    Insert(Vec<Insert>),
    Rotate(NonZeroUsize),
    WaitForTurn(Duration),
    List(Page),
    Remove(Vec<MessageId>),
    Len,
    Lease(NonZeroUsize, Duration),
    Settle(Vec<Settlement>),
    Turn(Vec<Settlement>, NonZeroUsize, Duration),
    Extend(Vec<Receipt>, Duration),
    WaitForArrival(Duration),
    Depth,
    Counters,
    DeadLetters(Page),
    Revive(Vec<MessageId>),
    Discard(Vec<MessageId>),
    Pause,
    Resume,
    Purge(NonZeroUsize),
}

/// The answer to a [`Call`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is documented as the type in it")]
pub enum Answer {
    Nothing,
    Pushed(Vec<Pushed>),
    Cancelled(Vec<Cancelled>),
    Rescheduled(Rescheduled),
    Next(Option<Duration>),
    Offered(Vec<Offered>),
    Messages(Vec<Message>),
    Capacity(NonZeroUsize),
    Ids(Vec<MessageId>),
    Inserted(Vec<Inserted>),
    Rotated(Rotated),
    Items(Paged<Message>),
    Leased(Leased),
    Settled(Vec<Settled>),
    Turned(Vec<Settled>, Leased),
    Extended(Vec<Extended>),
    Depth(Depth),
    Counters(Box<Counters>),
    DeadLetters(Paged<DeadLetter>),
    Revived(Vec<Revived>),
    Count(u64),
}

impl Call {
    /// Whether the call only waits and changes nothing.
    pub const fn is_wait(&self) -> bool {
        matches!(
            self,
            Self::WaitForArrival(_) | Self::WaitForRoom(_) | Self::WaitForTurn(_)
        )
    }
}
