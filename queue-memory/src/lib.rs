//! The in-process backend of queue-kit: all five kinds of queue, with leases, fencing, attempts,
//! dead letters, delays, dedup, capacity, pace and ageing, as `CONTRACT.md` has them.
//!
//! ```
//! use std::time::Duration;
//! use queue_core::{Queues, Reliable};
//! use queue_memory::MemoryBackend;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_core::Result<()> {
//! let queues = Queues::new(MemoryBackend::new());
//! let orders: Reliable<u32> = queues.reliable("orders").await?;
//! orders.push(&42).await?;
//!
//! let order = orders.receive(Duration::from_secs(30), Duration::from_secs(1)).await?;
//! let order = order.expect("one was pushed");
//! assert_eq!(order.body().ok(), Some(&42));
//! order.ack().await?;
//! # Ok(())
//! # }
//! ```
//!
//! **What it is.** Each queue is a pure, synchronous state machine behind one lock, and a thin
//! asynchronous handle that adds the clock and waiting. It keeps every rule of the contract that
//! does not speak of a server, so a test on it says something about a program that runs on
//! another backend later. What is in it is gone when the process ends.
//!
//! **Time** is tokio's: in a test that starts paused, leases expire and messages come due in
//! virtual time, with no setting. The clock shows the system's time when the backend was created,
//! and from then on only goes forward.
//!
//! **Waiting** uses no task and no polling: whoever waits is woken by what it waits for, at once.
//! One event wakes one who waits; if that one does not act on it, or nobody polls its future, the
//! next is woken 10 ms later. Whoever waits looks by itself at the latest after five seconds. Waiting
//! needs a tokio runtime with its timer enabled; all other calls finish without waiting,
//! on any executor.
//!
//! **Costs.** Pushing, leasing, settling and claiming take constant or logarithmic time, however much waits.
//! Memory follows what is in the queue, and returns when it is empty; dedup marks, once keys and
//! dead letters, which outlive messages, are bounded by their windows and their cap, and shown in
//! the counters.
//!
//! **Dropped futures.** A call does all its work in the first poll: a future that is dropped
//! before did nothing, and none can be dropped half-way.

/// Whether one of these bugs is planted. Without the feature none is: see `planted`.
#[cfg(feature = "planted")]
macro_rules! planted {
    ($($bug:ident)|+) => {
        $($crate::planted::is($crate::planted::Bug::$bug))||+
    };
}
#[cfg(not(feature = "planted"))]
macro_rules! planted {
    ($($bug:ident)|+) => {
        false
    };
}

/// Another thread may come between here: see `queue_interleave`.
macro_rules! step {
    () => {
        #[cfg(test)]
        queue_interleave::step();
    };
}

mod backend;
mod clock;
mod handle;
#[cfg(feature = "planted")]
pub mod planted;
mod state;
mod waiting;

pub use self::backend::MemoryBackend;
