//! A deterministic executor, nested in a paused tokio runtime.
//!
//! One future, [`Executor::run`], polls all tasks of a run, one at a time. A decision picks the
//! next ready task (see [`plan`](crate::plan)); without one, the same task goes on. A task sleeps
//! by tokio's clock, which is paused: when no task is ready, the clock jumps to the next timer, so
//! an hour costs nothing. Only the decisions are left to chance, so the same decisions give the
//! same run, here and in every other run of the program.
//!
//! Every task belongs to a process. A process that crashes loses all its tasks at once, wherever they
//! are: their futures are dropped, and no other code of theirs runs.

mod executor;
mod panics;
mod ready;
mod spawn;

pub(crate) use self::panics::said;
pub use self::{
    executor::{End, Executor},
    spawn::ProcessSpawn,
};

use std::future::Future;

/// Runs a future in virtual time, on this thread, in its own paused runtime.
///
/// # Panics
///
/// Inside another runtime, as every `block_on` does. So make a simulated test a plain `#[test]`.
pub fn in_virtual_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can always be built");
    runtime.block_on(future)
}

/// Lets other ready tasks go first, if a decision says so.
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
