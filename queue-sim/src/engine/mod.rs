//! A deterministic executor, nested in a paused tokio runtime.
//!
//! All tasks of a run are polled by one future, [`Executor::run`], one at a time. Which ready task
//! is next is a decision (see [`plan`](crate::plan)); as long as nothing else is decided, the same
//! one goes on. A task that sleeps does so by tokio's clock, which is paused: when nothing is
//! ready, it jumps to the next timer, so an hour costs nothing. Since only the decisions are left
//! to chance, the same decisions give the same run, here and in every other process.
//!
//! Every task belongs to a lane. A lane that crashes loses all its tasks at once, wherever they
//! were: their futures are dropped and nothing else of theirs runs.

mod executor;
mod panics;
mod ready;
mod spawn;

pub(crate) use self::panics::said;
pub use self::{
    executor::{End, Executor},
    spawn::LaneSpawn,
};

use std::future::Future;

/// Runs a future in virtual time: a paused runtime of its own, on this thread.
///
/// # Panics
///
/// Inside another runtime, as every `block_on`: a simulated test is a plain `#[test]`.
pub fn in_virtual_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can always be built");
    runtime.block_on(future)
}

/// Lets the other ready tasks have a turn, if it is so decided.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if yielded {
            return std::task::Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
