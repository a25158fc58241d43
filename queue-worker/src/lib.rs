//! The worker of queue-kit: handlers around a queue, on any backend.
//!
//! [`Worker`] leases messages of any leasing queue, gives each to a handler in a task of its own,
//! and settles it by what the handler answers:
//!
//! | the handler | the message |
//! | --- | --- |
//! | returns `Ok`, or nothing | acked |
//! | returns an error | again after the [`Backoff`]; dead after `max_attempts` (L6) |
//! | returns a [`Failure`] | again now or after a delay, deferred, or buried: as it says |
//! | panics, or takes longer than the timeout | a failed attempt |
//! | is never called, since the body does not decode | buried, with the reason |
//!
//! While handlers run, heartbeats extend their leases. A handler may still run more than once for
//! one message (L1); [`Context::token`] is for sinks that fence.
//!
//! **Round trips.** Results are sent together, and with the next lease, in one call
//! ([`turn`](queue_core::Leasing::turn)). A `lease`, `settle` or `turn` that was begun is always
//! awaited; only waiting is dropped.
//!
//! **Shutdown.** Leasing stops, handlers have the drain to finish, then are told to stop, then are
//! cut off; what did not finish is released, its attempt refunded. The [`Report`] says what came of
//! everything, and whether anything is left open.
//!
//! **Errors of the backend** never end a worker. It tries again, after the pause that the error
//! [asks for](queue_core::Error::retry_after) and a growing one with jitter, and [`Health`] shows what
//! fails and since when. A result whose reply was lost is sent again while the lease lives; if then
//! there is no lease, it was perhaps done. Without hints it looks on a timer, and says that it is
//! not healthy. After a lease whose answer was lost, or came when two thirds of its time were gone,
//! it asks for fewer messages at once, and for more again while answers come soon; what comes when
//! its lease is over is not begun.
//!
//! **Crash.** There is nothing to clean up: leases expire, and others take over. Dropping the
//! future of a running worker is a crash: its handlers are cut off, and nothing is settled.
//!
//! **Observing.** [`Health`] and [`Report`] are always there. With the feature `tracing` each job
//! is a span that can belong to its producer's trace, and with `metrics` everything is counted and
//! timed: the modules `tracing` and `metrics` have the names.

mod backoff;
mod batch;
mod context;
mod counts;
mod event;
mod events;
mod fate;
mod guard;
mod handler;
mod health;
mod lease;
#[cfg(feature = "metrics")]
pub mod metrics;
mod note;
mod outage;
#[cfg(feature = "rate-limit")]
mod rate;
mod report;
mod route;
mod runner;
mod settings;
mod shares;
mod single;
mod source;
mod stop;
#[cfg(feature = "tracing")]
pub mod tracing;
mod verdict;

#[cfg(feature = "rate-limit")]
pub use self::rate::Rate;
pub use self::{
    backoff::Backoff,
    batch::IntoVerdicts,
    context::Context,
    counts::Counts,
    event::Phase,
    health::{Health, Trouble},
    report::Report,
    route::{Route, Workers},
    shares::Sharing,
    single::Worker,
    stop::Stop,
    verdict::{Failure, IntoVerdict, Remedy, Verdict},
};
