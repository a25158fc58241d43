//! The memory backend against the reference models: random operations, in virtual time.
//!
//! Without `PROPTEST_CASES` the cases are the same each time, so that this is no test that fails
//! now and then; with it, there are so many, and fresh ones unless `PROPTEST_RNG_SEED` is set.

#[path = "model/memory.rs"]
mod memory;

use proptest::{
    prelude::*,
    test_runner::{FileFailurePersistence, RngSeed},
};
use queue_sim::model::{
    BoundedDriver, DelayDriver, PriorityDriver, ReliableDriver, RotatingDriver, strategy,
};

use self::memory::run;

/// So many that all five take some seconds, unoptimised and on one core.
const CASES: u32 = 400;

macro_rules! against_the_model {
    ($($kind:ident, $driver:ty, $persistence:literal;)*) => {$(
        proptest! {
            #![proptest_config(config(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/proptest-regressions/",
                $persistence,
            )))]

            #[test]
            fn $kind((config, ops) in strategy::$kind()) {
                if let Err(divergence) = run::<$driver>(&config, &ops) {
                    return Err(TestCaseError::fail(divergence.to_string()));
                }
            }
        }
    )*};
}

against_the_model! {
    reliable, ReliableDriver, "reliable.txt";
    delay, DelayDriver, "delay.txt";
    priority, PriorityDriver, "priority.txt";
    bounded, BoundedDriver, "bounded.txt";
    rotating, RotatingDriver, "rotating.txt";
}

fn config(regressions: &'static str) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(regressions)));
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
        if config.rng_seed == RngSeed::Random {
            config.rng_seed = RngSeed::Fixed(0);
        }
    }
    config
}
