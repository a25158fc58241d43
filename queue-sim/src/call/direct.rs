use std::sync::Arc;

use async_trait::async_trait;
use queue_core::{
    BoundedQueue, DelayQueue, Error, Leasing, PriorityQueue, QueueKind, ReliableQueue, Result,
    RotatingQueue,
};

use super::{Answer, Call, Service};

/// A queue of any kind as a [`Service`].
///
/// A call that the kind does not have is `Invalid`.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the kinds")]
pub enum Direct {
    Reliable(Arc<dyn ReliableQueue>),
    Delay(Arc<dyn DelayQueue>),
    Priority(Arc<dyn PriorityQueue>),
    Bounded(Arc<dyn BoundedQueue>),
    Rotating(Arc<dyn RotatingQueue>),
}

impl Direct {
    /// The kind of queue.
    pub const fn kind(&self) -> QueueKind {
        match self {
            Self::Reliable(_) => QueueKind::Reliable,
            Self::Delay(_) => QueueKind::Delay,
            Self::Priority(_) => QueueKind::Priority,
            Self::Bounded(_) => QueueKind::Bounded,
            Self::Rotating(_) => QueueKind::Rotating,
        }
    }
}

#[async_trait]
impl Service for Direct {
    async fn call(&self, call: Call) -> Result<Answer> {
        match self {
            Self::Reliable(queue) => match call {
                Call::Push(messages) => Ok(Answer::Pushed(queue.push(&messages).await?)),
                call => leasing(queue, call).await,
            },
            Self::Delay(queue) => delay(&**queue, call).await,
            Self::Priority(queue) => match call {
                Call::Enqueue(messages) => Ok(Answer::Pushed(queue.enqueue(&messages).await?)),
                call => leasing(queue, call).await,
            },
            Self::Bounded(queue) => bounded(&**queue, call).await,
            Self::Rotating(queue) => rotating(&**queue, call).await,
        }
    }
}

async fn delay(queue: &dyn DelayQueue, call: Call) -> Result<Answer> {
    Ok(match call {
        Call::Schedule(messages) => Answer::Pushed(queue.schedule(&messages).await?),
        Call::Cancel(ids) => Answer::Cancelled(queue.cancel(&ids).await?),
        Call::Reschedule(id, due) => Answer::Rescheduled(queue.reschedule(id, due).await?),
        Call::NextDue => Answer::Next(queue.next_due().await?),
        call => leasing(queue, call).await?,
    })
}

async fn bounded(queue: &dyn BoundedQueue, call: Call) -> Result<Answer> {
    Ok(match call {
        Call::Offer(messages, overflow) => Answer::Offered(queue.offer(&messages, overflow).await?),
        Call::WaitForRoom(timeout) => {
            queue.wait_for_room(timeout).await?;
            Answer::Nothing
        }
        Call::Recent(n) => Answer::Messages(queue.recent(n).await?),
        Call::Capacity => Answer::Capacity(queue.capacity().await?),
        Call::Resize(capacity) => Answer::Ids(queue.resize(capacity).await?),
        call => leasing(queue, call).await?,
    })
}

async fn rotating(queue: &dyn RotatingQueue, call: Call) -> Result<Answer> {
    Ok(match call {
        Call::Insert(items) => Answer::Inserted(queue.insert(&items).await?),
        Call::Rotate(max) => Answer::Rotated(queue.rotate(max).await?),
        Call::WaitForTurn(timeout) => {
            queue.wait_for_turn(timeout).await?;
            Answer::Nothing
        }
        Call::List(page) => Answer::Items(queue.list(page).await?),
        Call::Remove(ids) => Answer::Count(queue.remove(&ids).await?),
        Call::Len => Answer::Count(queue.len().await?),
        call => return Err(missing(&call)),
    })
}

async fn leasing<Q: Leasing + ?Sized>(queue: &Q, call: Call) -> Result<Answer> {
    Ok(match call {
        Call::Lease(max, ttl) => Answer::Leased(queue.lease(max, ttl).await?),
        Call::Settle(batch) => Answer::Settled(queue.settle(&batch).await?),
        Call::Turn(batch, max, ttl) => {
            let (settled, leased) = queue.turn(&batch, max, ttl).await?;
            Answer::Turned(settled, leased)
        }
        Call::Extend(receipts, ttl) => Answer::Extended(queue.extend(&receipts, ttl).await?),
        Call::WaitForArrival(timeout) => {
            queue.wait_for_arrival(timeout).await?;
            Answer::Nothing
        }
        Call::Depth => Answer::Depth(queue.depth().await?),
        Call::Counters => Answer::Counters(Box::new(queue.counters().await?)),
        Call::DeadLetters(page) => Answer::DeadLetters(queue.dead_letters(page).await?),
        Call::Revive(ids) => Answer::Revived(queue.revive(&ids).await?),
        Call::Discard(ids) => Answer::Count(queue.discard(&ids).await?),
        Call::Pause => {
            queue.pause().await?;
            Answer::Nothing
        }
        Call::Resume => {
            queue.resume().await?;
            Answer::Nothing
        }
        Call::Purge(max) => Answer::Count(queue.purge(max).await?),
        call => return Err(missing(&call)),
    })
}

fn missing(call: &Call) -> Error {
    Error::invalid(format!("this kind of queue has no such call: {call:?}"))
}
