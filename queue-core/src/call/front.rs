//! A service in the shape of a queue.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{Answer, Call, Service};
use crate::*;

/// A queue of any kind that hands its calls to a [`Service`].
#[derive(Debug, Clone)]
pub struct Front(Arc<dyn Service>);

impl Front {
    /// A queue that hands every call to this service.
    pub const fn of(service: Arc<dyn Service>) -> Self {
        Self(service)
    }
}

/// Makes a call and takes its answer out of the variant that belongs to it.
macro_rules! ask {
    ($self:ident, $call:expr, $variant:ident) => {
        match $self.0.call($call).await? {
            Answer::$variant(answer) => Ok(answer),
            other => Err(wrong(&other)),
        }
    };
    ($self:ident, $call:expr) => {
        match $self.0.call($call).await? {
            Answer::Nothing => Ok(()),
            other => Err(wrong(&other)),
        }
    };
}

fn wrong(answer: &Answer) -> Error {
    let message = format!("a service answered another call than it was given: {answer:?}");
    Error::new(ErrorKind::Internal, message)
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Leasing for Front {
    async fn lease(&self, max: NonZeroUsize, ttl: Duration) -> Result<Leased> {
        ask!(self, Call::Lease(max, ttl), Leased)
    }
    async fn settle(&self, settlements: &[Settlement]) -> Result<Vec<Settled>> {
        ask!(self, Call::Settle(settlements.to_vec()), Settled)
    }
    async fn turn(
        &self,
        settlements: &[Settlement],
        max: NonZeroUsize,
        ttl: Duration,
    ) -> Result<(Vec<Settled>, Leased)> {
        let call = Call::Turn(settlements.to_vec(), max, ttl);
        match self.0.call(call).await? {
            Answer::Turned(settled, leased) => Ok((settled, leased)),
            other => Err(wrong(&other)),
        }
    }
    async fn extend(&self, receipts: &[Receipt], ttl: Duration) -> Result<Vec<Extended>> {
        ask!(self, Call::Extend(receipts.to_vec(), ttl), Extended)
    }
    async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        ask!(self, Call::WaitForArrival(timeout))
    }
    async fn depth(&self) -> Result<Depth> {
        ask!(self, Call::Depth, Depth)
    }
    async fn counters(&self) -> Result<Counters> {
        let counters: Result<Box<Counters>> = ask!(self, Call::Counters, Counters);
        Ok(*counters?)
    }
    async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        ask!(self, Call::DeadLetters(page), DeadLetters)
    }
    async fn revive(&self, ids: &[MessageId]) -> Result<Vec<Revived>> {
        ask!(self, Call::Revive(ids.to_vec()), Revived)
    }
    async fn discard(&self, ids: &[MessageId]) -> Result<u64> {
        ask!(self, Call::Discard(ids.to_vec()), Count)
    }
    async fn pause(&self) -> Result<()> {
        ask!(self, Call::Pause)
    }
    async fn resume(&self) -> Result<()> {
        ask!(self, Call::Resume)
    }
    async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        ask!(self, Call::Purge(max), Count)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ReliableQueue for Front {
    async fn push(&self, messages: &[Push]) -> Result<Vec<Pushed>> {
        ask!(self, Call::Push(messages.to_vec()), Pushed)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl DelayQueue for Front {
    async fn schedule(&self, messages: &[Scheduled]) -> Result<Vec<Pushed>> {
        ask!(self, Call::Schedule(messages.to_vec()), Pushed)
    }
    async fn cancel(&self, ids: &[MessageId]) -> Result<Vec<Cancelled>> {
        ask!(self, Call::Cancel(ids.to_vec()), Cancelled)
    }
    async fn reschedule(&self, id: MessageId, due: Due) -> Result<Rescheduled> {
        ask!(self, Call::Reschedule(id, due), Rescheduled)
    }
    async fn next_due(&self) -> Result<Option<Duration>> {
        ask!(self, Call::NextDue, Next)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl PriorityQueue for Front {
    async fn enqueue(&self, messages: &[Prioritized]) -> Result<Vec<Pushed>> {
        ask!(self, Call::Enqueue(messages.to_vec()), Pushed)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl BoundedQueue for Front {
    async fn offer(&self, messages: &[Offer], overflow: Overflow) -> Result<Vec<Offered>> {
        ask!(self, Call::Offer(messages.to_vec(), overflow), Offered)
    }
    async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        ask!(self, Call::WaitForRoom(timeout))
    }
    async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        ask!(self, Call::Recent(n), Messages)
    }
    async fn capacity(&self) -> Result<NonZeroUsize> {
        ask!(self, Call::Capacity, Capacity)
    }
    async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        ask!(self, Call::Resize(capacity), Ids)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl RotatingQueue for Front {
    async fn insert(&self, items: &[Insert]) -> Result<Vec<Inserted>> {
        ask!(self, Call::Insert(items.to_vec()), Inserted)
    }
    async fn rotate(&self, max: NonZeroUsize) -> Result<Rotated> {
        ask!(self, Call::Rotate(max), Rotated)
    }
    async fn wait_for_turn(&self, timeout: Duration) -> Result<()> {
        ask!(self, Call::WaitForTurn(timeout))
    }
    async fn list(&self, page: Page) -> Result<Paged<Message>> {
        ask!(self, Call::List(page), Items)
    }
    async fn remove(&self, ids: &[MessageId]) -> Result<u64> {
        ask!(self, Call::Remove(ids.to_vec()), Count)
    }
    async fn len(&self) -> Result<u64> {
        ask!(self, Call::Len, Count)
    }
}
