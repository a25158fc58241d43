//! Running a handler so that neither its panic nor its length hurts anybody else.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
    time::Duration,
};

/// Why a handler came to no end of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Broken {
    Panicked(String),
    TimedOut(Duration),
}

/// Runs to the end, to a panic, or to the end of the time.
///
/// Nothing of the future is used after a panic but its drop, so it need not be unwind safe.
pub(crate) async fn guarded<F: Future<Output: Send> + Send>(
    limit: Option<Duration>,
    future: F,
) -> Result<F::Output, Broken> {
    // Boxed, to be pinned without unsafe code.
    let mut future = Box::pin(future);
    let caught =
        poll_fn(
            move |cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
                Err(panic) => Poll::Ready(Err(Broken::Panicked(message(&*panic)))),
            },
        );
    let Some(limit) = limit else {
        return caught.await;
    };
    match tokio::time::timeout(limit, caught).await {
        Ok(result) => result,
        Err(_elapsed) => Err(Broken::TimedOut(limit)),
    }
}

/// Runs code of others that is no future, such as a codec or a rule.
///
/// # Errors
///
/// What a panic said.
pub(crate) fn guarded_call<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
