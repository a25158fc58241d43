//! Periodic jobs for queue-kit: cron expressions in time zones, and intervals, on any backend and without a leader.
//! Most programs use this crate through `queue-kit`, with its feature `cron`.
//!
//! A [`Periodic`] is a name, a rule and what to do about missed slots. Each program that has it adds it to a
//! [`Scheduler`], and runs that beside its workers, as often as it likes:
//!
//! ```
//! use std::time::Duration;
//! use queue_core::{Job, Jobs, Queues};
//! use queue_memory::MemoryBackend;
//! use queue_schedule::{Missed, Periodic, Scheduler, Schedules};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Report {
//!     day: String,
//! }
//! impl Job for Report {
//!     const NAME: &'static str = "report";
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> queue_core::Result<()> {
//! let queues = Queues::new(MemoryBackend::new());
//! let reports = queues.reliable("reports").open::<Jobs>().await?;
//!
//! let schedules = Schedules::open(&queues, "schedules").await?;
//! let mut scheduler = Scheduler::new(&schedules);
//! let nightly = Periodic::cron("nightly-report", "0 3 * * *", "Europe/Berlin")?.missed(Missed::RunOnce);
//! scheduler.add_job(nightly, "reports", |slot| Report { day: slot.local().date() }).await?;
//!
//! // For a day and a bit, in virtual time. A service passes its shutdown.
//! scheduler.run_until(tokio::time::sleep(Duration::from_secs(25 * 3600))).await?;
//! assert!(reports.queue().depth().await?.ready >= 1);
//! # Ok(())
//! # }
//! ```
//!
//! **How it works.** The next slot of a schedule is a message in its queue already, due at the slot's time (D1). So it
//! comes on time, even if every scheduler has died since, for slots up to a day ahead. Schedulers use the backend's time
//! ([`Backend::now`](queue_core::Backend::now)), so their own clocks do not matter. Before a scheduler pushes a
//! slot, it claims the slot in the stored record of the schedule. Others that find the claim push the same message under
//! the same dedup key, which changes nothing (L9). So a scheduler may die at any moment.
//!
//! The contract states this by rule:
//!
//! - **C1** One message for each slot, whatever number of schedulers, crashes, restarts and cut connections. A scheduler
//!   that stands still for more than six days between a claim and its push may push a second one.
//! - **C2** No slot comes early, by the backend's clock. A time to live of its message counts from the slot.
//! - **C3** Slots that passed while no scheduler ran are skipped, run once, or run up to a number, by [`Missed`].
//! - **C4** Once a change, a removal or a disabling of a schedule has returned, no slot of the old one becomes ready. A
//!   message that a worker has by then goes on.
//! - **C5** A fixed time that a change to daylight saving skips comes at the first moment after the gap. A fixed
//!   time that exists twice comes once, at the first. The times of an expression are fixed, unless `*` or `0-23` is in its
//!   field for the hour. Intervals, and expressions whose times are not fixed, go on through both changes.
//! - **C6** A schedule of which one may run at a time ([`Periodic::unless_running`]) skips a slot while the message of its
//!   last one is ready, delayed or leased.
//! - **C7** A schedule whose record, rule or message is bad holds up no other. A slot whose message cannot be made is given
//!   up and reported.
//! - **C8** A run that an operator asks for comes once, whatever changes meanwhile, unless the schedule is removed.
//!
//! **Storage.** Each record is an item of a ring (T2), a rotating queue of the name that [`Schedules::open`] gets. An
//! item's key has the number of its version, so of two schedulers that change a record, one wins. This needs no more of
//! a backend than rings and its time.
//!
//! **Costs.** A scheduler reads all records once in each [poll interval](Scheduler::poll), 1,000 in a call. In between it
//! reads only what was written since. It takes the steps of up to 128 schedules at a time, and writes their records
//! together. So a slot costs the same beside any number of schedules: one push, and about ten calls that all slots of
//! that moment share.

#![cfg_attr(docsrs, feature(doc_cfg))]

/// The hook of a planted bug: it replaces a value. Without the feature it is nothing.
#[cfg(feature = "planted")]
macro_rules! planted {
    ($bug:ident => $value:ident = $wrong:expr) => {
        let $value = if $crate::planted::is($crate::planted::Bug::$bug) {
            $wrong
        } else {
            $value
        };
    };
}
#[cfg(not(feature = "planted"))]
macro_rules! planted {
    ($($hook:tt)*) => {};
}

mod calendar;
mod expression;
mod periodic;
#[cfg(feature = "planted")]
#[doc(hidden)]
pub mod planted;
mod record;
mod register;
mod scheduler;
mod schedules;
mod slot;
mod target;

pub use self::{
    periodic::{Missed, Periodic},
    scheduler::Scheduler,
    schedules::{ScheduleInfo, Schedules},
    slot::{LocalTime, Slot},
};
