//! Guards the worker against handlers that panic or take too long.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use queue_core::in_millis;

/// The end of a handler that did not return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AbnormalEnd {
    Panicked(String),
    TimedOut(Duration),
}

/// Runs the future to its end, to its panic, or to the time limit, and drops it.
///
/// After a panic only the drop touches the future, so it need not be unwind safe. A panic of that drop counts
/// as a panic of the future. If this is dropped before its end, such a panic goes on to the caller: see
/// [`Contained`].
pub(crate) async fn guarded<F: Future<Output: Send> + Send>(
    limit: Option<Duration>,
    future: F,
) -> Result<F::Output, AbnormalEnd> {
    // Boxed, so that it is pinned without unsafe code.
    let mut future = Box::pin(future);
    let caught = poll_fn(|cx| poll_guarded(future.as_mut(), cx));
    let ended = match limit {
        None => Ok(caught.await),
        Some(limit) => tokio::time::timeout(limit, caught)
            .await
            .map_err(|_elapsed| limit),
    };
    let dropped = guarded_call(|| drop(future));
    Err(match (ended, dropped) {
        (Ok(Ok(output)), Ok(())) => return Ok(output),
        (Ok(Err(panic)), _) | (Ok(Ok(_)), Err(panic)) => AbnormalEnd::Panicked(panic),
        (Err(limit), Ok(())) => AbnormalEnd::TimedOut(limit),
        (Err(limit), Err(panic)) => {
            let after = in_millis(limit);
            AbnormalEnd::Panicked(format!("{panic}, when it was cut off after {after}"))
        }
    })
}

/// Polls the user's future, and returns its output or its panic's message.
fn poll_guarded<F: Future>(
    future: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Poll<Result<F::Output, String>> {
    match guarded_call(|| future.poll(cx)) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Err(panic) => Poll::Ready(Err(panic)),
    }
}

/// A future that contains all panics, those of its polls and of its drop. After a panic it returns `None` and
/// stores the panic's message in the given place, because a caller that drops the future half-way gets no
/// output.
#[derive(Debug)]
pub(crate) struct Contained<'a, F> {
    future: Option<F>,
    panic: &'a mut Option<String>,
}

impl<'a, F: Future + Unpin> Contained<'a, F> {
    pub(crate) fn new(future: F, panic: &'a mut Option<String>) -> Self {
        Self {
            future: Some(future),
            panic,
        }
    }
}

impl<F: Future + Unpin> Future for Contained<'_, F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else {
            return Poll::Ready(None);
        };
        poll_guarded(Pin::new(future), cx).map(|ended| match ended {
            Ok(output) => Some(output),
            Err(panic) => {
                *self.panic = Some(panic);
                None
            }
        })
    }
}

impl<F> Drop for Contained<'_, F> {
    fn drop(&mut self) {
        let future = self.future.take();
        if let Err(panic) = guarded_call(|| drop(future)) {
            self.panic.get_or_insert(panic);
        }
    }
}

/// Runs the user's synchronous code, such as a codec or a rule.
///
/// # Errors
///
/// The panic's message.
pub(crate) fn guarded_call<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
