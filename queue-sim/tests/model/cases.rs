//! Random operations on each kind of queue and on its model.

use std::{cell::RefCell, collections::BTreeSet, path::Path};

use proptest::{
    prelude::*,
    test_runner::{FileFailurePersistence, RngSeed, TestRunner},
};
use queue_sim::model::{
    BoundedDriver, DelayDriver, Divergence, Drive, PriorityDriver, ReliableDriver, RotatingDriver,
    strategy,
};

use crate::{CASES, fresh};

#[test]
fn a_reliable_queue_is_its_model() {
    compare::<ReliableDriver>(&strategy::reliable(), "reliable");
}

#[test]
fn a_delay_queue_is_its_model() {
    compare::<DelayDriver>(&strategy::delay(), "delay");
}

#[test]
fn a_priority_queue_is_its_model() {
    compare::<PriorityDriver>(&strategy::priority(), "priority");
}

#[test]
fn a_bounded_queue_is_its_model() {
    compare::<BoundedDriver>(&strategy::bounded(), "bounded");
}

#[test]
fn a_rotating_queue_is_its_model() {
    compare::<RotatingDriver>(&strategy::rotating(), "rotating");
}

/// Runs cases, and fails at the first difference, or if they did not reach their goals though
/// they were enough to.
fn compare<D: Drive>(cases: &impl Strategy<Value = (D::Config, Vec<D::Op>)>, kind: &str) {
    let reached = RefCell::new(BTreeSet::new());
    let config = config(kind);
    let enough = config.cases >= CASES;
    let outcome = TestRunner::new(config).run(cases, |(config, ops)| {
        let driver = run::<D>(&config, &ops);
        let driver = driver.map_err(|divergence| TestCaseError::fail(divergence.to_string()))?;
        reached
            .borrow_mut()
            .extend(driver.reached().iter().copied());
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let reached = reached.into_inner();
    let missed: Vec<_> = D::goals().difference(&reached).copied().collect();
    assert!(
        missed.is_empty() || !enough,
        "no case got so far that {missed:?}"
    );
}

fn config(kind: &str) -> ProptestConfig {
    let regressions = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("proptest-regressions")
        .join(format!("{kind}.txt"));
    // One short string for each test of this process.
    let regressions = regressions.to_string_lossy().into_owned().leak();
    let default = ProptestConfig::default();
    let fixed = std::env::var_os("PROPTEST_CASES").is_none();
    ProptestConfig {
        cases: if fixed { CASES } else { default.cases },
        rng_seed: match default.rng_seed {
            RngSeed::Random if fixed => RngSeed::Fixed(0),
            seed => seed,
        },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(regressions))),
        ..default
    }
}

/// Runs these operations on a fresh queue and on its model.
pub(crate) fn run<D: Drive>(config: &D::Config, ops: &[D::Op]) -> Result<D, Divergence> {
    let harness = fresh();
    let mut outcome = None;
    harness.run(Box::pin(async {
        let opened = D::open(harness.clone(), config).await;
        let mut driver = opened.expect("a fresh queue");
        outcome = Some(driver.run(ops).await.map(|()| driver));
    }));
    outcome.expect("the case has run to its end")
}
