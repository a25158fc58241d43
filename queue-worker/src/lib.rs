//! The worker of queue-kit, for programs that handle messages: it runs your handler around a queue, on any
//! backend. Most programs use it through the crate `queue-kit`.
//!
//! [`Worker`] leases messages of any leasing queue, gives each to a handler in a task of its own, and settles
//! it by the handler's result:
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
//! ([`settle_and_lease`](queue_core::Leasing::settle_and_lease)). It never drops a `settle_and_lease` or
//! `settle` that it has begun; it drops only waits.
//!
//! **Shutdown.** The worker stops leasing and gives handlers the drain time to finish. Then it tells the
//! handlers to stop, and later cuts them off. It releases unfinished messages, which refunds the attempt. The
//! [`Report`] counts all outcomes, and says whether anything is left open.
//!
//! **Durable jobs.** [`Context::step`] keeps the result of a part of the job with its message, and a later attempt does not
//! run that part again. [`Context::sleep`] and [`Context::join`] wait without a lease and a slot; [`Context::spawn`] pushes
//! children once. A [`Batch`] is jobs and a callback after all of them, and a [`Chain`] is jobs one after another.
//!
//! **Stopping a job.** By [`peek`](queue_core::Leasing::peek) an operator sees which messages are leased, and
//! which [holder](Worker::holder) has each. To stop a running job, the operator settles its message by the
//! receipt shown there: a [`bury`](queue_core::Settlement::bury) puts the message among the dead letters, an
//! [`ack`](queue_core::Settlement::ack) ends it for good. If the worker settled it first, the operator gets
//! `LeaseLost`. The worker notices the stop at its next heartbeat, so within a third of a lease, unless the
//! handler has extended the lease by more. It tells the handler: [`Context::stopped`] ends with
//! [`Stop::LeaseLost`], and [`Context::extend`] fails. The worker then ignores the handler's result, and
//! settles nothing.
//!
//! A stop does not undo the handler's effects. A handler that does not listen works on until the
//! [`cleanup`](Worker::cleanup) time is over; then the worker cuts it off, at an await. A handler that blocks
//! its thread works to its end, and keeps its slot until then. The worker cuts off a batch only when all its
//! leases are lost.
//!
//! **Errors of the backend** never end a worker. It tries again, after the pause that the error [asks
//! for](queue_core::Error::retry_after) plus a growing pause with jitter. [`Health`] shows which calls fail
//! and since when.
//!
//! If a call for several messages fails by a permanent error, the worker sends each of them alone, so that one bad
//! result harms no other. A message whose settlement alone is refused is buried, and its reason says why. Progress that
//! is refused is thrown away. [`Counts::refused`] counts both.
//!
//! While a lease lives, the worker repeats a settlement whose reply was lost. If the backend then finds no
//! lease, the first try perhaps took effect. Without hints the worker polls on a timer, and reports that it
//! is not healthy. If the reply to a lease is lost, or comes when two thirds of the lease are gone, the
//! worker asks for fewer messages at once. While replies come soon, it asks for more again. It starts no
//! handler on a message whose lease is over.
//!
//! **Crash.** There is nothing to clean up: leases expire, and other workers take over. Dropping
//! the future of a running worker is a crash: it cuts handlers off and settles nothing.
//!
//! **Observing.** [`Health`] and [`Report`] are always there. If the worker [samples](Worker::sample_every)
//! its queues, [`Health::paused`] shows which of them an operator has paused. With the feature `tracing` each
//! job is a span that can belong to its producer's trace. With `metrics` the worker counts and times
//! everything. The modules `tracing` and `metrics` list the names.
//!
//! **Testing.** [`Context::for_test`] creates a context without a worker and a queue, so a test can call a
//! handler as a plain function.

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

mod backoff;
mod batch;
mod context;
mod control;
mod counts;
mod durable;
mod event;
mod events;
#[cfg(feature = "tracing")]
mod failures;
mod families;
mod guard;
mod handler;
mod handler_result;
mod health;
mod job_state;
mod job_type;
mod later;
mod layer;
mod lease;
#[cfg(feature = "metrics")]
pub mod metrics;
mod outage;
#[cfg(feature = "tracing")]
mod outages;
mod outcome;
#[cfg(feature = "planted")]
#[doc(hidden)]
pub mod planted;
mod queue_scope;
mod rate;
mod report;
mod route;
mod router;
mod runner;
mod settings;
mod shares;
#[cfg(feature = "signal")]
mod signal;
mod single;
mod source;
mod stop;
mod task_message;
mod test_context;
mod times;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tracing")]
pub mod tracing;
mod verdict;

#[cfg(feature = "signal")]
pub use self::signal::shutdown;
#[cfg(feature = "tower")]
pub use self::tower::{Handler, Handling, Tower};
pub use self::{
    backoff::Backoff,
    batch::IntoVerdicts,
    context::Context,
    control::Control,
    counts::Counts,
    durable::{Batch, BatchReport, Chain, Children, Joined, OnFailure, StepName, batches, chains},
    event::Phase,
    families::FailedChild,
    health::{Health, Trouble},
    job_type::JobSettings,
    layer::{HandlerLayer, Next},
    rate::Rate,
    report::Report,
    route::{Route, Workers},
    router::Router,
    shares::Sharing,
    single::Worker,
    stop::Stop,
    test_context::{TestContext, TestWorker},
    verdict::{Failure, IntoVerdict, Output, OutputBytes, Remedy, Verdict},
};
