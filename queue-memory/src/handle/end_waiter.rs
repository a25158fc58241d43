//! Waiting for the end of a message: until it is acked, dead or gone.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use queue_core::{MessageId, Result, TokioSpawn};
use tokio::time::sleep_until;

use super::queue::QueueHandle;
use crate::{
    clock::{self, MemoryClock},
    state::Waitable,
};

/// Waits up to `timeout` for the end of a message. Ends at once if the message has ended already, or if the queue was
/// removed.
pub(super) async fn wait_for_end<S: Waitable>(
    queue: &QueueHandle<S>,
    id: MessageId,
    timeout: Duration,
) -> Result<()> {
    let limit = clock::after(timeout);
    let mut ticket = EndTicket {
        queue,
        id,
        number: None,
    };
    // Without a runtime, the timer panics.
    TokioSpawn::current()?;
    let mut timer = pin!(sleep_until(limit));
    poll_fn(|cx| {
        if ticket.has_ended(cx)? || MemoryClock::has_come(limit) {
            return Poll::Ready(Ok(()));
        }
        timer.as_mut().poll(cx).map(Ok)
    })
    .await
}

/// A caller's place among those that wait. Dropping it leaves.
struct EndTicket<'a, S: Waitable> {
    queue: &'a QueueHandle<S>,
    id: MessageId,
    number: Option<u64>,
}

impl<S: Waitable> EndTicket<'_, S> {
    /// Whether the message has ended, or the queue was removed; otherwise leaves the waker.
    fn has_ended(&mut self, cx: &Context<'_>) -> Result<bool> {
        let mut locked = self.queue.lock()?;
        if locked.removed || locked.state.watch_end(self.id) {
            return Ok(true);
        }
        let ends = &mut locked.ends;
        let number = *self.number.get_or_insert_with(|| ends.number());
        let spent = ends.wait(self.id, number, cx.waker());
        drop(locked);
        // Dropping a waker may run any code.
        drop(spent);
        Ok(false)
    }
}

impl<S: Waitable> Drop for EndTicket<'_, S> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let Ok(mut locked) = self.queue.lock() else {
            return;
        };
        let spent = locked.ends.leave(self.id, number);
        if locked.ends.is_empty() {
            locked.state.take_ended(false);
        }
        drop(locked);
        drop(spent);
    }
}
