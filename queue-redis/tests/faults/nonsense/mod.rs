//! A server or a proxy that replies with nonsense: every call ends in time with an error of the right
//! outcome, and afterwards the same backend works.
//!
//! A valid reply to another request cannot be recognised as wrong without TLS. But a shift of the replies
//! ends as soon as one of them cannot be read.

mod peer;
mod places;
mod replies;
mod slips;

use tokio::runtime;

/// Runs a case of a property in a runtime of its own.
fn run(case: impl Future<Output = ()>) {
    let mut runtime = runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    runtime.expect("a runtime").block_on(case);
}
