//! A queue: its state behind one lock, its clock, and those who wait for it.

use std::{
    fmt,
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use queue_core::{Error, ErrorKind, QueueKind, QueueName, Result, Timestamp};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{
    clock::{self, Clock, Millisecond},
    state::{Outlook, Prospects},
    waiting::{Sleepers, Ticket},
};

/// One queue, shared by all handles to it.
pub(crate) struct Queue<S> {
    name: QueueName,
    kind: QueueKind,
    clock: Clock,
    // A std lock: it is held for the time of one call's work and never across an await.
    locked: Mutex<Locked<S>>,
}

struct Locked<S> {
    state: S,
    last: Millisecond,
    arrival: Sleepers,
    room: Sleepers,
}

/// One of the two things that can be waited for, and where the queue keeps what belongs to it.
struct Occasion<S> {
    sleepers: fn(&mut Locked<S>) -> &mut Sleepers,
    outlook: fn(&S, Timestamp) -> Outlook,
}

impl<S: Prospects> Queue<S> {
    pub(crate) fn new(name: QueueName, kind: QueueKind, clock: Clock, state: S) -> Self {
        Self {
            name,
            kind,
            clock,
            locked: Mutex::new(Locked {
                state,
                last: clock.first(),
                arrival: Sleepers::default(),
                room: Sleepers::default(),
            }),
        }
    }

    pub(crate) fn name(&self) -> &QueueName {
        &self.name
    }

    fn lock(&self) -> Result<MutexGuard<'_, Locked<S>>> {
        step!();
        self.locked.lock().map_err(|_| {
            let message = "an earlier call panicked half-way, so its messages cannot be trusted";
            Error::new(ErrorKind::Internal, message).with_queue(&self.name)
        })
    }

    /// Does one call's work at one instant, and wakes whom it concerns.
    pub(crate) fn call<R>(&self, work: impl FnOnce(&mut S, Timestamp) -> R) -> Result<R> {
        // Before the lock, so that others do not wait for the clock; the state sees to it that
        // time never goes back.
        let instant = Instant::now();
        let mut locked = self.lock()?;
        let Locked {
            state,
            last,
            arrival,
            room,
        } = &mut *locked;
        let now = self.clock.time_from(instant, last);
        let answer = work(state, now);
        let arrival = arrival.stir(|| state.arrival(now), now);
        let room = room.stir(|| state.room(now), now);
        drop(locked);
        if let Some(arrival) = arrival.filter(|_| !planted!(ArrivalWakesNobody)) {
            arrival.wake();
        }
        if let Some(room) = room.filter(|_| !planted!(RoomWakesNobody)) {
            room.wake();
        }
        Ok(answer)
    }

    /// Reads or sets what concerns nobody who waits.
    pub(crate) fn glance<R>(&self, work: impl FnOnce(&mut S) -> R) -> Result<R> {
        Ok(work(&mut self.lock()?.state))
    }

    pub(crate) async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        let occasion = Occasion {
            sleepers: |locked| &mut locked.arrival,
            outlook: S::arrival,
        };
        self.wait(&occasion, timeout).await
    }

    pub(crate) async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        let occasion = Occasion {
            sleepers: |locked| &mut locked.room,
            outlook: S::room,
        };
        self.wait(&occasion, timeout).await
    }

    async fn wait(&self, occasion: &Occasion<S>, timeout: Duration) -> Result<()> {
        let limit = clock::after(timeout);
        let mut place = Place::new(self, occasion);
        // Made only by who sleeps: it needs a runtime.
        let mut timer = pin!(None::<Sleep>);
        poll_fn(|cx| {
            loop {
                let Some(until) = place.look(cx)? else {
                    return Poll::Ready(Ok(()));
                };
                if Clock::has_come(limit) {
                    return Poll::Ready(Ok(()));
                }
                let until = self.clock.instant(until).min(limit);
                match timer.as_mut().as_pin_mut() {
                    Some(timer) => timer.reset(until),
                    None => timer.set(Some(sleep_until(until))),
                }
                // Woken or not, it looks again.
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

/// A place among those who wait, given up when it is dropped.
struct Place<'a, S: Prospects> {
    queue: &'a Queue<S>,
    occasion: &'a Occasion<S>,
    ticket: Option<Ticket>,
}

impl<'a, S: Prospects> Place<'a, S> {
    fn new(queue: &'a Queue<S>, occasion: &'a Occasion<S>) -> Self {
        Self {
            queue,
            occasion,
            ticket: None,
        }
    }

    /// Until when to go on sleeping; `None` if what is waited for may be there.
    fn look(&mut self, cx: &Context<'_>) -> Result<Option<Timestamp>> {
        let now = self.queue.clock.now();
        let mut locked = self.queue.lock()?;
        let outlook = (self.occasion.outlook)(&locked.state, now);
        let sleepers = (self.occasion.sleepers)(&mut locked);
        // Who finds it at once never waited.
        if self.ticket.is_none() && outlook == Outlook::Now {
            return Ok(None);
        }
        let ticket = *self.ticket.get_or_insert_with(|| sleepers.join(now));
        let (until, wakers) = sleepers.look(ticket, cx.waker(), outlook, now);
        drop(locked);
        wakers.wake();
        #[cfg(feature = "planted")]
        if until.is_none() && planted!(ToldBeforeItLeaves) {
            let mut locked = self.queue.lock()?;
            let sleepers = (self.occasion.sleepers)(&mut locked);
            sleepers.leave_later(ticket);
        }
        if until.is_none() {
            self.ticket = None;
        }
        Ok(until)
    }
}

impl<S: Prospects> Drop for Place<'_, S> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let now = self.queue.clock.now();
        let Ok(mut locked) = self.queue.lock() else {
            return;
        };
        let outlook = (self.occasion.outlook)(&locked.state, now);
        let sleepers = (self.occasion.sleepers)(&mut locked);
        let wakers = sleepers.leave(ticket, outlook, now, false);
        drop(locked);
        wakers.wake();
    }
}

impl<S> fmt::Debug for Queue<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// A handle to a queue, with this opener's own limit on the size of a message.
#[derive(Debug)]
pub(crate) struct Handle<S> {
    pub(super) queue: Arc<Queue<S>>,
    pub(super) max_body: usize,
}

impl<S: Prospects> Handle<S> {
    pub(crate) fn new(queue: &Arc<Queue<S>>, max_body: usize) -> Self {
        Self {
            queue: Arc::clone(queue),
            max_body,
        }
    }

    /// Names the queue in a refusal.
    pub(super) fn checked<T>(&self, check: Result<T>) -> Result<T> {
        check.map_err(|error| error.with_queue(self.queue.name()))
    }
}
