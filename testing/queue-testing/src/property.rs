//! Random cases for tests that hold for any input.
//!
//! Without `PROPTEST_CASES` the cases are always the same, so no test fails now and then. With it, that is
//! the number of cases, and they are fresh unless `PROPTEST_RNG_SEED` is set. An input that once failed is
//! kept as a test of its own.

use std::fmt::Debug;

use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngSeed, TestCaseError, TestRunner},
};

/// Tries `holds` on `cases` values, and shrinks a value on which it fails.
///
/// # Panics
///
/// If it fails on a value: with that value, and with its message.
#[track_caller]
pub fn check_property<S>(cases: u32, values: S, holds: impl Fn(S::Value))
where
    S: Strategy,
    S::Value: Debug,
{
    let outcome = TestRunner::new(config(cases)).run(&values, |value| {
        holds(value);
        Ok::<(), TestCaseError>(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// This number of cases, without a file for failures.
pub fn config(cases: u32) -> Config {
    let default = Config::default();
    let fixed = std::env::var_os("PROPTEST_CASES").is_none();
    Config {
        cases: if fixed { cases } else { default.cases },
        rng_seed: match default.rng_seed {
            RngSeed::Random if fixed => RngSeed::Fixed(0),
            seed => seed,
        },
        failure_persistence: None,
        ..default
    }
}
