//! Guards the worker against handlers that panic or take too long.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
    time::Duration,
};

/// The end of a handler that did not return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AbnormalEnd {
    Panicked(String),
    TimedOut(Duration),
}

/// Runs the future to its end, to its panic, or for the time limit.
///
/// After a panic nothing touches the future but its drop, so it need not be unwind safe.
pub(crate) async fn guarded<F: Future<Output: Send> + Send>(
    limit: Option<Duration>,
    future: F,
) -> Result<F::Output, AbnormalEnd> {
    // Boxed, to be pinned without unsafe code.
    let mut future = Box::pin(future);
    let caught =
        poll_fn(
            move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
                Err(panic) => Poll::Ready(Err(AbnormalEnd::Panicked(message(&*panic)))),
            },
        );
    let Some(limit) = limit else {
        return caught.await;
    };
    match tokio::time::timeout(limit, caught).await {
        Ok(result) => result,
        Err(_elapsed) => Err(AbnormalEnd::TimedOut(limit)),
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
