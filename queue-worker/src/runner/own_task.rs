//! The loop in a task of its own, on a runtime of several threads.
//!
//! `block_on` polls its future on a thread that runs no tasks. So the loop, if it ran there, would wake another thread
//! for each call and each handler, and would be woken by another thread at the end of each. A task of the runtime
//! mostly shares a thread with the handlers that it starts, and with the connection.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    task::{Context as Poller, Poll},
    thread,
};

use queue_core::{Error, ErrorKind, Result, Spawn, Task, TokioSpawn};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{mpsc, oneshot},
};

use crate::task_message::TaskMessage;

/// Whether the runtime has several threads.
pub(super) fn has_threads() -> bool {
    Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread
}

/// Whether a task would be faster than the caller's future.
pub(super) fn pays() -> bool {
    has_threads() && tokio::task::try_id().is_none()
}

/// Messages to the loop that a handler sends half-way.
///
/// A message wakes the loop on the handler's own thread. If the handler then blocks that thread, the loop could not
/// run. So the caller's future, which has a thread of its own, passes these messages on.
pub(super) struct Relay {
    pub(super) from: mpsc::UnboundedReceiver<TaskMessage>,
    pub(super) to: mpsc::UnboundedSender<TaskMessage>,
}

impl Relay {
    fn poll(&mut self, cx: &mut Poller<'_>) {
        while let Poll::Ready(Some(message)) = self.from.poll_recv(cx) {
            // Sending fails if the worker has ended.
            let _ = self.to.send(message);
        }
    }
}

/// Runs the worker in a task, and returns its result. `run` gets a future that ends when `shutdown` does. Dropping
/// this stops the task; a panic of the task goes on here.
pub(super) async fn run<T, F>(
    run: impl FnOnce(oneshot::Receiver<()>) -> F,
    mut relay: Relay,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (begin, begun) = oneshot::channel();
    let (ended, mut end) = oneshot::channel();
    let (mut begin, mut shutdown) = (Some(begin), pin!(shutdown));
    let mut work: Pin<Box<F>> = Box::pin(run(begun));
    let task: Task = Box::pin(async move {
        let result = poll_fn(|cx| {
            let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
            polled.map_or_else(|panic| Poll::Ready(Err(panic)), |poll| poll.map(Ok))
        });
        // Sending fails if the caller is gone.
        let _ = ended.send(result.await);
    });
    let _running = TokioSpawn::current()?.spawn(as_caller(task));
    let result: Result<thread::Result<T>, _> = poll_fn(|cx| {
        if begin.is_some()
            && shutdown.as_mut().poll(cx).is_ready()
            && let Some(begin) = begin.take()
        {
            let _ = begin.send(());
        }
        relay.poll(cx);
        Pin::new(&mut end).poll(cx)
    })
    .await;
    match result {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => Err(Error::new(
            ErrorKind::Unavailable,
            "the worker was stopped half-way, because its runtime ended",
        )),
    }
}

/// The task in the caller's span, and with the caller's subscriber.
#[cfg(feature = "tracing")]
fn as_caller(task: Task) -> Task {
    use ::tracing::{Instrument, instrument::WithSubscriber};
    Box::pin(task.in_current_span().with_current_subscriber())
}

#[cfg(not(feature = "tracing"))]
fn as_caller(task: Task) -> Task {
    task
}
