//! A handle, and how it finds its queue again after a removal.

use std::{
    fmt::Debug,
    ops::ControlFlow::{self, Break, Continue},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use queue_core::{MessageId, Result, Timestamp};

use super::{QueueHandle, end_waiter::wait_for_end, waiter::Waiter};
use crate::state::Waitable;

/// The place of a queue's name among those of its backend.
pub(crate) trait Home<S>: Debug + Send + Sync {
    /// The queue that has the name now; creates it if there is none.
    fn queue(&self) -> Result<Arc<QueueHandle<S>>>;
}

/// A handle to a queue, with its own limit on the size of a message.
///
/// After a removal, the next call goes to the queue that has the name by then, as on a server that keeps
/// nothing of a removed queue.
#[derive(Debug)]
pub(crate) struct Handle<S> {
    queue: Arc<QueueHandle<S>>,
    /// The queue that a call of this handle found last, after `queue` was removed. It may be removed, too.
    later: OnceLock<Mutex<Arc<QueueHandle<S>>>>,
    home: Arc<dyn Home<S>>,
    pub(super) max_body: usize,
}

impl<S: Waitable> Handle<S> {
    pub(crate) fn new(queue: Arc<QueueHandle<S>>, max_body: usize, home: Arc<dyn Home<S>>) -> Self {
        Self {
            queue,
            later: OnceLock::new(),
            home,
            max_body,
        }
    }

    /// Does one call's work at one instant, and wakes the waiting callers that are affected.
    pub(crate) fn call<R>(&self, work: impl FnOnce(&mut S, Timestamp) -> R) -> Result<R> {
        self.on_queue(work, |queue, work| queue.call(work))
    }

    /// Does work that affects no waiting caller.
    pub(super) fn without_waking<R>(&self, work: impl FnOnce(&mut S) -> R) -> Result<R> {
        self.on_queue(work, |queue, work| queue.without_waking(work))
    }

    /// Waits on the queue that this handle found last. If that was removed, the wait ends at once, and the
    /// caller's poll finds the next queue.
    pub(super) async fn arrival(&self, timeout: Duration) -> Result<()> {
        Waiter::for_arrivals(&self.known()).wait(timeout).await
    }

    /// Waits as [`arrival`](Self::arrival) does.
    pub(super) async fn room(&self, timeout: Duration) -> Result<()> {
        Waiter::for_room(&self.known()).wait(timeout).await
    }

    /// Waits for the end of a message, as [`arrival`](Self::arrival) waits.
    pub(super) async fn end(&self, id: MessageId, timeout: Duration) -> Result<()> {
        wait_for_end(&self.known(), id, timeout).await
    }

    /// Names the queue in an error.
    pub(super) fn checked<T>(&self, check: Result<T>) -> Result<T> {
        check.map_err(|error| error.with_queue(self.queue.name()))
    }

    /// Does the work on the first queue that was not removed.
    fn on_queue<R, W>(
        &self,
        work: W,
        call: impl Fn(&QueueHandle<S>, W) -> Result<ControlFlow<R, W>>,
    ) -> Result<R> {
        let mut undone = match call(&self.queue, work)? {
            Break(answer) => return Ok(answer),
            Continue(undone) => undone,
        };
        let mut known = self.later();
        loop {
            let queue = match known.take() {
                Some(queue) => queue,
                None => self.move_on()?,
            };
            undone = match call(&queue, undone)? {
                Break(answer) => return Ok(answer),
                Continue(undone) => undone,
            };
        }
    }

    fn known(&self) -> Arc<QueueHandle<S>> {
        self.later().unwrap_or_else(|| Arc::clone(&self.queue))
    }

    fn later(&self) -> Option<Arc<QueueHandle<S>>> {
        self.later.get().map(|later| Arc::clone(&lock(later)))
    }

    /// The queue that has the name now.
    fn move_on(&self) -> Result<Arc<QueueHandle<S>>> {
        let queue = self.home.queue()?;
        let later = self.later.get_or_init(|| Mutex::new(Arc::clone(&queue)));
        *lock(later) = Arc::clone(&queue);
        Ok(queue)
    }
}

/// No `step!` before this lock: another thread's work here could as well come before the lock of the queue.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
