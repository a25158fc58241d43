//! The worker of queue-kit, for programs that handle messages: it runs your handler around a queue,
//! on any backend. Most programs open it through the crate `queue-kit`.
//!
//! [`Worker`] leases messages of any leasing queue, gives each to a handler in a task of its own,
//! and settles it by the handler's answer:
//!
//! | the handler | the message |
//! | --- | --- |
//! | returns `Ok`, or nothing | acked |
//! | returns an error | again after the [`Backoff`]; dead after `max_attempts` (L6) |
//! | returns a [`Failure`] | again now or after a delay, deferred, or buried: as it says |
//! | panics, or takes longer than the timeout | a failed attempt |
//! | is never called, since the body does not decode | a failed attempt; or [buried at once](Worker::bury_undecodable) |
//!
//! While handlers run, heartbeats extend their leases. A handler may still run more than once for
//! one message (L1); sinks that fence use [`Context::token`].
//!
//! **Round trips.** The worker sends results together, and with the next lease, in one call
//! ([`settle_and_lease`](queue_core::Leasing::settle_and_lease)). It always awaits a `settle_and_lease` or `settle` that it has begun;
//! it drops only waits.
//!
//! **Shutdown.** The worker stops leasing and gives handlers the drain time to finish. Then it
//! tells them to stop, and later cuts them off. It releases unfinished messages, which refunds the
//! attempt. The [`Report`] counts all outcomes, and says whether anything is left open.
//!
//! **Stopping a job.** By [`peek`](queue_core::Leasing::peek) an operator sees which messages are
//! leased, and which [holder](Worker::holder) has each. To stop a job that runs, the operator
//! settles it by the receipt shown there: a [`bury`](queue_core::Settlement::bury) puts the message
//! among the dead letters, an [`ack`](queue_core::Settlement::ack) ends it for good. If the worker
//! settled it first, the operator's answer is `LeaseLost`. The worker learns of the stop at its
//! next heartbeat, so within a third of a lease, unless the handler itself has extended the lease
//! by more. It tells the handler: [`Context::stopped`] ends with [`Stop::LeaseLost`], and
//! [`Context::extend`] fails. Whatever the handler answers then, the worker settles nothing.
//!
//! This undoes nothing that the handler has done. A handler that does not listen works on until the
//! [`cleanup`](Worker::cleanup) time is over; then the worker cuts it off, at an await. A handler
//! that blocks its thread works on to its end, and has its slot until then. The worker cuts off a
//! batch only when all its leases are lost.
//!
//! **Errors of the backend** never end a worker. It tries again, after the pause that the error
//! [asks for](queue_core::Error::retry_after) plus a growing one with jitter, and [`Health`] shows
//! which calls fail and since when. While a lease lives, the worker sends a result again whose
//! reply was lost; if the backend then finds no lease, the first try perhaps took effect. Without
//! hints the worker looks on a timer, and reports that it is not healthy. If a lease's answer is
//! lost, or comes when two thirds of the lease are gone, the worker asks for fewer messages at
//! once, and for more again while answers come soon. It starts no handler on a message whose lease
//! is over.
//!
//! **Crash.** There is nothing to clean up: leases expire, and other workers take over. Dropping
//! the future of a running worker is a crash: it cuts handlers off and settles nothing.
//!
//! **Observing.** [`Health`] and [`Report`] are always there. If the worker
//! [samples](Worker::sample_every) its queues, [`Health::paused`] tells which of them an operator
//! has paused. With the feature `tracing` each job
//! is a span that can belong to its producer's trace. With `metrics` the worker counts and times
//! everything. The modules `tracing` and `metrics` list the names.
//!
//! **Testing.** [`Context::for_test`] makes a context without a worker and a queue, so that a test
//! calls a handler as the function that it is.

mod backoff;
mod batch;
mod context;
mod counts;
mod event;
mod events;
#[cfg(feature = "tracing")]
mod failures;
mod guard;
mod handler;
mod handler_result;
mod health;
mod holder;
mod later;
mod lease;
#[cfg(feature = "metrics")]
pub mod metrics;
mod outage;
#[cfg(feature = "tracing")]
mod outages;
mod outcome;
mod rate;
mod report;
mod route;
mod runner;
mod settings;
mod shares;
mod single;
mod source;
mod stop;
mod task_message;
mod test_context;
#[cfg(feature = "tracing")]
pub mod tracing;
mod verdict;

pub use self::{
    backoff::Backoff,
    batch::IntoVerdicts,
    context::Context,
    counts::Counts,
    event::Phase,
    health::{Health, Trouble},
    rate::Rate,
    report::Report,
    route::{Route, Workers},
    shares::Sharing,
    single::Worker,
    stop::Stop,
    test_context::{TestContext, TestWorker},
    verdict::{Failure, IntoVerdict, Remedy, Verdict},
};
