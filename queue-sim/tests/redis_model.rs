//! The Redis backend against the reference models: random operations on a real server, in virtual
//! time.
//!
//! Without `PROPTEST_CASES` the cases are the same each time, so that this is no test that fails
//! now and then; with it, there are so many, and fresh ones unless `PROPTEST_RNG_SEED` is set.
//! What failed once is in `proptest-regressions` and runs first.

#![cfg(unix)]

#[path = "model/cases.rs"]
mod cases;
#[path = "../../queue-redis/tests/support/harness.rs"]
mod harness;
#[path = "model/regressions.rs"]
mod regressions;
#[path = "../../queue-redis/tests/support/virtual_time.rs"]
mod virtual_time;

use std::sync::Arc;

use queue_conformance::Harness;

use self::harness::VirtualTimeHarness;

/// As many as for the memory backend: with fewer, some goals are not reached.
const CASES: u32 = 400;

/// A stage of its own for one case.
fn fresh() -> Arc<dyn Harness> {
    Arc::new(VirtualTimeHarness::fresh())
}
