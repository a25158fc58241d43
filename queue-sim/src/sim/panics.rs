//! Panics of the code under test. The simulator catches them and shows them in the history view. It does not print them
//! for each of the hundreds of runs in which it shrinks a failure.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    panic::{self, AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Once,
    task::Poll,
};

use crate::engine::said;

thread_local! {
    /// Whether code under test is running on this thread.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// The place of its last panic.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the future that `make` returns. If it panics, returns the panic's message and place.
pub(super) async fn guarded<T, F: Future<Output = T> + Unpin>(
    make: impl FnOnce() -> F,
) -> Result<T, String> {
    listen();
    let mut future = caught(make)?;
    std::future::poll_fn(move |cx| match caught(|| Pin::new(&mut future).poll(cx)) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(before);
    result.map_err(|panic| {
        let message = said(&*panic);
        match PLACE.take() {
            Some(place) => format!("{message} ({place})"),
            None => message,
        }
    })
}

/// Keeps the panics of guarded code off standard error. All other panics go to the previous hook.
fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if GUARDED.get() {
                PLACE.replace(panic.location().map(ToString::to_string));
            } else {
                before(panic);
            }
        }));
    });
}
