//! What can be asked of a queue, as data.
//!
//! A [`Call`] is one call of one method of the traits, with its arguments; an [`Answer`] is what
//! came back. Whatever stands between a caller and a queue in a simulation (a recorder, a fault)
//! is a [`Service`] around another: it sees all verbs of all kinds as one. [`Direct`] makes a
//! service of a queue, [`Front`] a queue of a service, and [`Behind`] puts a [`Layer`] of services
//! in front of every queue of a backend. [`Model`] applies a call to the reference model.

mod backend;
mod direct;
mod front;
mod model;

use std::{fmt::Debug, num::NonZeroUsize, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Cancelled, Counters, DeadLetter, Depth, Due, Extended, Insert, Inserted, Leased, Message,
    MessageId, Offer, Offered, Overflow, Page, Paged, Prioritized, Push, Pushed, Receipt,
    Rescheduled, Result, Revived, Rotated, Scheduled, Settled, Settlement,
};

pub use self::{
    backend::{Behind, Layer, Opening},
    direct::Direct,
    front::Front,
    model::{Config, Model},
};

/// Answers calls: a queue, or something in front of one.
#[async_trait]
pub trait Service: Debug + Send + Sync + 'static {
    /// Makes the call. What dropping the future does is what it does to the queue behind.
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

/// What came back from a [`Call`].
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
    /// Whether it waits for something instead of doing something.
    pub const fn is_wait(&self) -> bool {
        matches!(
            self,
            Self::WaitForArrival(_) | Self::WaitForRoom(_) | Self::WaitForTurn(_)
        )
    }
}
