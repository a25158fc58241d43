//! The in-process backend of queue-kit, for programs whose queues live and die with the process,
//! and for tests in virtual time. It has all kinds of queue, with leases, fencing, attempts,
//! dead letters, delays, times to live, dedup, capacity, pace and ageing, as `CONTRACT.md` defines
//! them.
//!
//! ```
//! use std::time::Duration;
//! use queue_core::{Queues, Reliable};
//! use queue_memory::MemoryBackend;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_core::Result<()> {
//! let queues = Queues::new(MemoryBackend::new());
//! let orders: Reliable<u32> = queues.reliable("orders").open().await?;
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
//! **Design.** Each queue is a pure, synchronous state machine behind one lock, and a thin asynchronous
//! handle adds the clock and waiting. It keeps every rule of the contract that needs no server, so a test on
//! it holds for a program that runs on another backend later. Its messages are gone when the process ends.
//!
//! **Time** is tokio's: in a test that starts paused, leases expire and messages come due in
//! virtual time, with no setting. The clock starts with the system's time at the backend's
//! creation, and from then on only goes forward.
//!
//! **Waiting** uses no task and no polling: an event wakes one waiting caller at once. If that caller does
//! not act on it, or its future is not polled, the queue wakes the next caller 10 ms later. A waiting caller
//! polls after five seconds at the latest. Waiting needs a tokio runtime with its timer enabled; all other
//! calls finish without waiting, on any executor.
//!
//! **Costs.** Pushing, leasing, settling, cancelling and claiming take constant or logarithmic time in the
//! number of messages. A peek walks past the messages that the pages before it have shown. Memory follows the
//! queue's content, and is freed when the queue is empty. Dedup marks, once keys and dead letters outlive
//! messages; their windows and their cap bound them, and the counters show them.
//!
//! **Dropped futures.** A call does all its work in the first poll. A future that is dropped before that did
//! nothing, and no drop stops a call half-way.

/// The hook of a planted bug: it replaces a value, or runs any other statement. Without the feature it is
/// nothing. See `planted`.
#[cfg(feature = "planted")]
macro_rules! planted {
    ($($bug:ident)|+ => $value:ident = $wrong:expr) => {
        let is_planted = $crate::planted::is(&[$($crate::planted::Bug::$bug),+]);
        let $value = if is_planted { $wrong } else { $value };
    };
    ($($bug:ident)|+ => $($wrong:tt)+) => {
        if $crate::planted::is(&[$($crate::planted::Bug::$bug),+]) { $($wrong)+; }
    };
}
#[cfg(not(feature = "planted"))]
macro_rules! planted {
    ($($hook:tt)+) => {};
}

/// A point at which a test lets another thread run. See `queue_testing::interleave`.
macro_rules! step {
    () => {
        #[cfg(test)]
        queue_testing::interleave::step();
    };
}

#[macro_use]
mod coded;

mod backend;
mod clock;
mod handle;
#[cfg(feature = "journal")]
#[doc(hidden)]
pub mod journal;
#[cfg(feature = "planted")]
#[doc(hidden)]
pub mod planted;
mod state;
mod waiting;

pub use self::backend::MemoryBackend;
