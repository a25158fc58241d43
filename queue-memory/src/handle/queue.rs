//! A queue: its state behind one lock, its clock, and its waiting callers.

use std::{
    fmt, mem,
    ops::ControlFlow::{self, Break, Continue},
    sync::{Mutex, MutexGuard},
};

use queue_core::{Error, ErrorKind, QueueKind, QueueName, Removal, Result, Timestamp};
use tokio::time::Instant;

use crate::{
    clock::{MemoryClock, Millisecond},
    state::{Openable, Waitable},
    waiting::{EndWaiters, WaiterRegistry},
};

/// One queue, shared by all handles to it.
pub(crate) struct QueueHandle<S> {
    name: QueueName,
    kind: QueueKind,
    pub(super) clock: MemoryClock,
    // A std lock, because a call holds it for its work, and never across an await.
    locked: Mutex<Locked<S>>,
}

pub(super) struct Locked<S> {
    pub(super) state: S,
    /// Whether the queue was removed. A removed queue is empty, and no call works on it.
    pub(super) removed: bool,
    last: Millisecond,
    pub(super) arrival: WaiterRegistry,
    pub(super) room: WaiterRegistry,
    pub(super) ends: EndWaiters,
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
                arrival: WaiterRegistry::default(),
                room: WaiterRegistry::default(),
                ends: EndWaiters::default(),
            }),
        }
    }

    pub(crate) fn name(&self) -> &QueueName {
        &self.name
    }

    /// The numbers of callers that wait for messages, and for room.
    pub(crate) fn waiting(&self) -> Result<(u64, u64)> {
        let locked = self.lock()?;
        Ok((locked.arrival.count(), locked.room.count()))
    }

    pub(super) fn lock(&self) -> Result<MutexGuard<'_, Locked<S>>> {
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
            ends,
        } = &mut *locked;
        if *removed {
            return Ok(Continue(work));
        }
        let now = self.clock.time_from(instant, last);
        let answer = work(state, now);
        let arrival = arrival.notify(|| state.arrival(now), now);
        let room = room.notify(|| state.room(now), now);
        let ended = match ends.is_empty() {
            true => Vec::new(),
            false => ends.woken(state),
        };
        drop(locked);
        planted!(ArrivalWakesNobody => arrival = None);
        planted!(RoomWakesNobody => room = None);
        if let Some(arrival) = arrival {
            arrival.wake();
        }
        if let Some(room) = room {
            room.wake();
        }
        planted!(EndWakesNobody => return Ok(Break(answer)));
        for waker in ended {
            step!();
            waker.wake();
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
        let mut wakers = locked.arrival.wake_all();
        wakers.append(&mut locked.room.wake_all());
        wakers.append(&mut locked.ends.take_all());
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

impl<S> fmt::Debug for QueueHandle<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}
