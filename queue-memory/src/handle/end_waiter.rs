//! Waiting for the end of a message: until it is acked, dead or gone.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use queue_core::{MessageId, Result, TokioSpawn};
use tokio::time::sleep_until;

use super::queue::QueueHandle;
use crate::{
    clock::{self, MemoryClock},
    state::Waitable,
};

/// The callers that wait for the ends of messages. The queue's lock protects them.
#[derive(Debug, Default)]
pub(super) struct EndWaiters {
    /// By message, and then in the order of joining.
    waiting: BTreeMap<(MessageId, u64), Waker>,
    last: u64,
}

impl EndWaiters {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes out the callers whose messages have ended since the last call.
    pub(super) fn woken(&mut self, state: &mut impl Waitable) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for id in state.take_ended(true) {
            let waiting = self.waiting.range((id, 0)..=(id, u64::MAX));
            let keys: Vec<_> = waiting.map(|(key, _)| *key).collect();
            wakers.extend(keys.iter().filter_map(|key| self.waiting.remove(key)));
        }
        if self.is_empty() {
            state.take_ended(false);
        }
        wakers
    }

    /// Takes all callers out.
    pub(super) fn take_all(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}

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
        let number = *self.number.get_or_insert_with(|| {
            ends.last += 1;
            ends.last
        });
        let spent = ends.waiting.insert((self.id, number), cx.waker().clone());
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
        let spent = locked.ends.waiting.remove(&(self.id, number));
        if locked.ends.is_empty() {
            locked.state.take_ended(false);
        }
        drop(locked);
        drop(spent);
    }
}
