//! A queue: its state behind one lock, its clock, and its waiting callers.

use std::{
    fmt,
    future::poll_fn,
    mem,
    ops::ControlFlow::{self, Break, Continue},
    pin::pin,
    sync::{Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use queue_core::{Error, ErrorKind, QueueKind, QueueName, Removal, Result, Timestamp, TokioSpawn};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::{
    clock::{self, MemoryClock, Millisecond},
    state::{Availability, Openable, Waitable},
    waiting::{SleeperId, Sleepers},
};

/// One queue, shared by all handles to it.
pub(crate) struct QueueHandle<S> {
    name: QueueName,
    kind: QueueKind,
    clock: MemoryClock,
    // A std lock, because a call holds it for its work, and never across an await.
    locked: Mutex<Locked<S>>,
}

struct Locked<S> {
    state: S,
    /// Whether the queue was removed. A removed queue is empty, and no call works on it.
    removed: bool,
    last: Millisecond,
    arrival: Sleepers,
    room: Sleepers,
}

/// An arrival or room: the callers that wait for it, and the time at which it comes.
struct WaitTarget<S> {
    sleepers: fn(&mut Locked<S>) -> &mut Sleepers,
    availability: fn(&S, Timestamp) -> Availability,
}

impl<S: Waitable> QueueHandle<S> {
    pub(crate) fn new(name: QueueName, kind: QueueKind, clock: MemoryClock, state: S) -> Self {
        Self {
            name,
            kind,
            clock,
            locked: Mutex::new(Locked {
                state,
                removed: false,
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
        self.lock_at_once()
    }

    /// [`lock`](Self::lock), for a caller that holds another lock: no `step!` comes before it, because no
    /// other thread may run meanwhile.
    fn lock_at_once(&self) -> Result<MutexGuard<'_, Locked<S>>> {
        self.locked.lock().map_err(|_| {
            let message = "an earlier call panicked half-way, so its messages cannot be trusted";
            Error::new(ErrorKind::Internal, message).with_queue(&self.name)
        })
    }

    /// Does one call's work at one instant, and wakes the waiting callers that are affected. Returns the work
    /// if the queue was removed.
    pub(crate) fn call<R, W>(&self, work: W) -> Result<ControlFlow<R, W>>
    where
        W: FnOnce(&mut S, Timestamp) -> R,
    {
        // The clock is read before the lock, so that no other call waits for it; the state keeps time from
        // going back.
        let instant = Instant::now();
        let mut locked = self.lock()?;
        let Locked {
            state,
            removed,
            last,
            arrival,
            room,
        } = &mut *locked;
        if *removed {
            return Ok(Continue(work));
        }
        let now = self.clock.time_from(instant, last);
        let answer = work(state, now);
        let arrival = arrival.after_change(|| state.arrival(now), now);
        let room = room.after_change(|| state.room(now), now);
        drop(locked);
        planted!(ArrivalWakesNobody => arrival = None);
        planted!(RoomWakesNobody => room = None);
        if let Some(arrival) = arrival {
            arrival.wake();
        }
        if let Some(room) = room {
            room.wake();
        }
        Ok(Break(answer))
    }

    /// Does work that affects no waiting caller, or returns it if the queue was removed.
    pub(super) fn without_waking<R, W>(&self, work: W) -> Result<ControlFlow<R, W>>
    where
        W: FnOnce(&mut S) -> R,
    {
        let mut locked = self.lock()?;
        if locked.removed {
            return Ok(Continue(work));
        }
        Ok(Break(work(&mut locked.state)))
    }

    /// Reads the state for a caller that may hold another lock.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&S) -> R) -> Result<R> {
        Ok(look(&self.lock_at_once()?.state))
    }

    /// Waits for an arrival; ends at once if the queue was removed.
    pub(super) async fn wait_for_arrival(&self, timeout: Duration) -> Result<()> {
        let target = WaitTarget {
            sleepers: |locked| &mut locked.arrival,
            availability: S::arrival,
        };
        self.wait(&target, timeout).await
    }

    /// Waits for room; ends at once if the queue was removed.
    pub(super) async fn wait_for_room(&self, timeout: Duration) -> Result<()> {
        let target = WaitTarget {
            sleepers: |locked| &mut locked.room,
            availability: S::room,
        };
        self.wait(&target, timeout).await
    }

    async fn wait(&self, target: &WaitTarget<S>, timeout: Duration) -> Result<()> {
        let limit = clock::after(timeout);
        let mut waiter = Waiter::new(self, target);
        // Created only when the caller sleeps, because a timer needs a runtime.
        let mut timer = pin!(None::<Sleep>);
        poll_fn(|cx| {
            loop {
                let Some(until) = waiter.look(cx)? else {
                    return Poll::Ready(Ok(()));
                };
                if MemoryClock::has_come(limit) {
                    return Poll::Ready(Ok(()));
                }
                let until = self.clock.instant(until).min(limit);
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

impl<S: Openable> QueueHandle<S> {
    /// Removes the queue, for a caller that may hold another lock. From then on the queue is empty, calls
    /// return their work, and waits end. Returns the work that is left for when no lock is held.
    ///
    /// # Errors
    ///
    /// `InUse` if messages are leased, unless the removal takes them along.
    pub(crate) fn end(&self, removal: Removal) -> Result<Box<dyn FnOnce() + Send>> {
        let now = self.clock.now();
        let mut locked = self.lock_at_once()?;
        let checked = removal.check(locked.state.leased(now));
        checked.map_err(|error| error.with_queue(&self.name))?;
        let empty = S::create(locked.state.config());
        let state = mem::replace(&mut locked.state, empty);
        locked.removed = true;
        let mut wakers = locked.arrival.leave_all();
        wakers.append(&mut locked.room.leave_all());
        drop(locked);
        planted!(RemovalWakesNobody => wakers = Vec::new());
        Ok(Box::new(move || {
            for waker in wakers {
                step!();
                waker.wake();
            }
            // A long queue takes a while to drop; no other call waits for that.
            drop(state);
        }))
    }
}

/// A caller that waits. Dropping this removes the caller from the sleepers.
struct Waiter<'a, S: Waitable> {
    queue: &'a QueueHandle<S>,
    target: &'a WaitTarget<S>,
    sleeper: Option<SleeperId>,
}

impl<'a, S: Waitable> Waiter<'a, S> {
    fn new(queue: &'a QueueHandle<S>, target: &'a WaitTarget<S>) -> Self {
        Self {
            queue,
            target,
            sleeper: None,
        }
    }

    /// Polls; returns the time until which to sleep, or `None` if the arrival or the room may be there or the
    /// queue was removed.
    fn look(&mut self, cx: &Context<'_>) -> Result<Option<Timestamp>> {
        let now = self.queue.clock.now();
        let mut locked = self.queue.lock()?;
        if locked.removed {
            // The removal has taken all sleepers out.
            self.sleeper = None;
            return Ok(None);
        }
        let availability = (self.target.availability)(&locked.state, now);
        let sleepers = (self.target.sleepers)(&mut locked);
        // A caller that finds an arrival or room at once never joins the sleepers.
        if self.sleeper.is_none() && availability == Availability::Now {
            return Ok(None);
        }
        let id = *self.sleeper.get_or_insert_with(|| sleepers.join(now));
        let (until, wakers) = sleepers.look(id, cx.waker(), availability, now);
        drop(locked);
        wakers.wake();
        if until.is_none() {
            planted!(ToldBeforeItLeaves =>
                (self.target.sleepers)(&mut *self.queue.lock()?).leave_later(id));
            self.sleeper = None;
        }
        Ok(until)
    }
}

impl<S: Waitable> Drop for Waiter<'_, S> {
    fn drop(&mut self) {
        let Some(id) = self.sleeper else { return };
        let now = self.queue.clock.now();
        let Ok(mut locked) = self.queue.lock() else {
            return;
        };
        let availability = (self.target.availability)(&locked.state, now);
        let sleepers = (self.target.sleepers)(&mut locked);
        let wakers = sleepers.leave(id, availability, now, false);
        drop(locked);
        wakers.wake();
    }
}

impl<S> fmt::Debug for QueueHandle<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
