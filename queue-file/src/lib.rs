//! The backend of queue-kit that keeps queues in a folder of one machine. They survive a crash of the process and a
//! loss of power, and need no server.
//!
//! ```
//! use std::time::Duration;
//! use queue_core::{Queues, Reliable};
//! use queue_file::FileBackend;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> queue_core::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("queue-file-doc-{}", std::process::id()));
//! # let url = format!("file:{}", folder.display());
//! // let url = "file:/var/lib/shop/queues";
//! let queues = Queues::new(FileBackend::connect(&url)?);
//! let orders: Reliable<u32> = queues.reliable("orders").open().await?;
//! orders.push(&42).await?;
//! drop((queues, orders));
//!
//! // After a restart:
//! let queues = Queues::new(FileBackend::connect(&url)?);
//! let orders: Reliable<u32> = queues.reliable("orders").open().await?;
//! let order = orders.receive(Duration::from_secs(30), Duration::from_secs(1)).await?;
//! assert_eq!(order.expect("it was kept").body().ok(), Some(&42));
//! # drop((queues, orders));
//! # std::fs::remove_dir_all(folder).ok();
//! # Ok(())
//! # }
//! ```
//!
//! **Design.** The queues are those of `queue-memory`, which are deterministic. Each call that changes anything is a
//! record of the journal: the queue, the time and the call. The call takes effect in memory and its record is added in
//! one step. Its answer waits until the record is durable, and so does each answer that saw its effect. One thread
//! writes all records that have gathered, and syncs once. At the start, the calls of the journal are made again.
//!
//! **Durability.** With [`SyncMode::Always`] no crash and no loss of power undoes an answered call. The other settings may
//! lose the last calls in a loss of power (R1), and nothing in a crash of the process.
//!
//! **Time** is the system's at the start, but never before the last record's. So leases, delays and windows go on
//! through a restart, and end as they would have ended. From then on it runs as tokio's clock.
//!
//! **Room.** States of queues are stored beside the calls, and then their old records are removed. So the folder has at
//! most twice the bytes of what the queues hold, and 64 MiB; and once more the bytes of the largest queue while its state
//! is stored. A full disk refuses pushes and inserts (`OutOfMemory`, not applied); other calls go on from a reserve of
//! at least 2 MiB.
//!
//! **Failures.** After a failed write or sync nobody knows what is on the disk. Then all calls that wait return an
//! unknown outcome, later calls return `Unavailable`, and the folder has to be opened again.
//!
//! **Dropped futures.** A call that is dropped before its first poll did nothing. A call that is dropped later has taken
//! effect, or not; no message is lost (L8).

#[cfg(not(unix))]
compile_error!("queue-file needs a Unix system: it locks its folder by flock");

/// The hook of a planted bug: it replaces a value, or runs another statement. Without the feature it is nothing.
#[cfg(feature = "planted")]
macro_rules! planted {
    ($bug:ident => $value:ident = $wrong:expr) => {
        let $value = if $crate::planted::is($crate::planted::Bug::$bug) { $wrong } else { $value };
    };
    ($bug:ident => $wrong:block) => {
        if $crate::planted::is($crate::planted::Bug::$bug) $wrong
    };
}
#[cfg(not(feature = "planted"))]
macro_rules! planted {
    ($($hook:tt)+) => {};
}

mod at_once;
mod backend;
mod core;
mod disk;
mod folder;
mod journal;
mod log;
mod owner;
mod past_damage;
#[cfg(feature = "planted")]
#[doc(hidden)]
pub mod planted;
mod queue;
mod record;
mod recovery;
pub mod repair;
#[cfg(all(test, feature = "simulated"))]
mod replayed;
mod segments;
#[cfg(feature = "simulated")]
pub mod simulated;
mod sync_times;
mod upkeep;
mod url;

pub use self::{backend::FileBackend, disk::Disk, url::SyncMode};
