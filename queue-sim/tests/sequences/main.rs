//! Random sequences of calls on each kind of queue, in virtual time, on the memory backend and on a
//! real redis-server. They break no rule, and each answer is the reference model's.
//! The tests keep failures as calls, which outlive a change of the strategies.

mod kept;
#[path = "../support/kinds.rs"]
mod kinds;

use std::{cell::RefCell, collections::BTreeSet};

use proptest::test_runner::{TestCaseError, TestRunner};
use queue_core::QueueKind;
use queue_sim::{
    check::{Budget, Verdict, check, reached},
    report::timeline,
    sequence::{Sequence, goals, play, strategy},
    world::Environment,
};

/// The number of cases of each kind: all together take some seconds, unoptimised and on one core.
const CASES: u32 = 400;

macro_rules! tests {
    ($($name:ident $kind:ident),*) => {
        mod memory {
            $(
                #[test]
                fn $name() {
                    super::compare(queue_core::QueueKind::$kind, queue_sim::world::MemoryEnvironment::new());
                }
            )*
        }

        #[cfg(all(unix, feature = "redis"))]
        mod redis {
            $(
                #[test]
                fn $name() {
                    let server = queue_sim::wire::RedisEnvironment::start();
                    super::compare(queue_core::QueueKind::$kind, server.expect("a redis-server"));
                }
            )*
        }
    };
}
kinds::each_kind!(tests!);

/// Plays sequences. Fails at the first that breaks a rule, or if enough of them did not reach their
/// goals.
fn compare(kind: QueueKind, environment: impl Environment) {
    let (environment, seen) = (RefCell::new(environment), RefCell::new(BTreeSet::new()));
    let config = queue_testing::property::config(CASES);
    let enough = config.cases >= CASES;
    let outcome = TestRunner::new(config).run(&strategy::sequence(kind), |sequence| {
        let goals = hold(&sequence, &mut *environment.borrow_mut());
        seen.borrow_mut()
            .extend(goals.map_err(TestCaseError::fail)?);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let seen = seen.into_inner();
    let missed: Vec<_> = goals(kind).difference(&seen).copied().collect();
    assert!(
        missed.is_empty() || !enough,
        "no sequence got so far that {missed:?}"
    );
}

/// Plays a sequence and checks it. Returns its goals, or the broken rule.
pub(crate) fn hold(
    sequence: &Sequence,
    environment: &mut dyn Environment,
) -> Result<BTreeSet<&'static str>, String> {
    let played = play(sequence, environment);
    match check(&played, Budget::default()) {
        Verdict::Holds => Ok(reached(&played)),
        Verdict::Inconclusive => Err("the checks ran out of their budget".to_owned()),
        Verdict::Broken(violations) => Err(violations
            .iter()
            .map(|finding| timeline(&played.config, &played.history, finding, None))
            .collect()),
    }
}
