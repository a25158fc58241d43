//! The memory backend against the reference models: random operations, in virtual time.
//!
//! Without `PROPTEST_CASES` the cases are the same each time, so that this is no test that fails
//! now and then; with it, there are so many, and fresh ones unless `PROPTEST_RNG_SEED` is set.
//! What failed once is in `proptest-regressions` and runs first.

#[path = "model/cases.rs"]
mod cases;
#[path = "model/memory.rs"]
mod memory;
#[path = "model/regressions.rs"]
mod regressions;

use std::sync::Arc;

use queue_conformance::Harness;

use self::memory::InProcess;

/// So many of each kind that all together take some seconds, unoptimised and on one core.
const CASES: u32 = 400;

/// A stage of its own for one case.
fn fresh() -> Arc<dyn Harness> {
    Arc::new(InProcess::default())
}
