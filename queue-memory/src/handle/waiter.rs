//! Waiting at a queue, for an arrival or for room.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use queue_core::{Result, Timestamp, TokioSpawn};
use tokio::time::{Sleep, sleep_until};

use super::queue::{Locked, QueueHandle};
use crate::{
    clock::{self, MemoryClock},
    state::{Availability, Waitable},
    waiting::{TicketNumber, WaiterRegistry},
};

/// Waits for arrivals at a queue, or for room.
pub(super) struct Waiter<'a, S> {
    queue: &'a QueueHandle<S>,
    /// The callers that wait for the same.
    registry: fn(&mut Locked<S>) -> &mut WaiterRegistry,
    /// The time at which it comes.
    availability: fn(&S, Timestamp) -> Availability,
}

impl<'a, S: Waitable> Waiter<'a, S> {
    pub(super) fn for_arrivals(queue: &'a QueueHandle<S>) -> Self {
        Self {
            queue,
            registry: |locked| &mut locked.arrival,
            availability: S::arrival,
        }
    }

    pub(super) fn for_room(queue: &'a QueueHandle<S>) -> Self {
        Self {
            queue,
            registry: |locked| &mut locked.room,
            availability: S::room,
        }
    }

    /// Waits up to `timeout`; ends at once if the queue was removed. The caller then polls.
    pub(super) async fn wait(&self, timeout: Duration) -> Result<()> {
        let limit = clock::after(timeout);
        let mut ticket = Ticket {
            waiter: self,
            number: None,
        };
        // Created only when the caller sleeps, because a timer needs a runtime.
        let mut timer = pin!(None::<Sleep>);
        poll_fn(|cx| {
            loop {
                let Some(until) = ticket.poll(cx)? else {
                    return Poll::Ready(Ok(()));
                };
                if MemoryClock::has_come(limit) {
                    return Poll::Ready(Ok(()));
                }
                let until = self.queue.clock.instant(until).min(limit);
                match timer.as_mut().as_pin_mut() {
                    Some(timer) => timer.reset(until),
                    None => {
                        // Without a runtime, the timer panics.
                        TokioSpawn::current()?;
                        timer.set(Some(sleep_until(until)));
                    }
                }
                // At the timeout the loop polls again, as after a wake-up.
                if let Some(timer) = timer.as_mut().as_pin_mut()
                    && timer.poll(cx).is_pending()
                {
                    return Poll::Pending;
                }
            }
        })
        .await
    }
}

/// A caller's place among the waiting callers, once it has one. Dropping it leaves.
struct Ticket<'a, S: Waitable> {
    waiter: &'a Waiter<'a, S>,
    number: Option<TicketNumber>,
}

impl<S: Waitable> Ticket<'_, S> {
    /// Polls; returns the time until which to sleep, or `None` if the arrival or the room may be there or the
    /// queue was removed.
    fn poll(&mut self, cx: &Context<'_>) -> Result<Option<Timestamp>> {
        let waiter = self.waiter;
        let now = waiter.queue.clock.now();
        let mut locked = waiter.queue.lock()?;
        if locked.removed {
            // The removal has taken all waiting callers out.
            self.number = None;
            return Ok(None);
        }
        let availability = (waiter.availability)(&locked.state, now);
        let registry = (waiter.registry)(&mut locked);
        // A caller that finds an arrival or room at once never joins.
        if self.number.is_none() && availability == Availability::Now {
            return Ok(None);
        }
        let number = *self.number.get_or_insert_with(|| registry.join(now));
        let (until, wakers) = registry.poll(number, cx.waker(), availability, now);
        drop(locked);
        wakers.wake();
        if until.is_none() {
            planted!(ToldBeforeItLeaves =>
                (waiter.registry)(&mut *waiter.queue.lock()?).leave_later(number));
            self.number = None;
        }
        Ok(until)
    }
}

impl<S: Waitable> Drop for Ticket<'_, S> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let waiter = self.waiter;
        let now = waiter.queue.clock.now();
        let Ok(mut locked) = waiter.queue.lock() else {
            return;
        };
        let availability = (waiter.availability)(&locked.state, now);
        let registry = (waiter.registry)(&mut locked);
        let wakers = registry.leave(number, availability, now, false);
        drop(locked);
        wakers.wake();
    }
}
