use super::{Played, Replayed};
use crate::{
    check::{Verdict, Violation},
    plan::{Plan, shrink},
    report::operations,
};

/// So many runs may be spent on making one failure small.
const SHRINKING: usize = 3_000;

/// A run that broke a rule, as small as it could be made.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The seed that led to it.
    pub seed: u64,
    /// The rule that it breaks, and how.
    pub violation: Violation,
    /// The small run, which breaks the same rule.
    pub played: Played,
    /// How many operations there were in the run of the seed.
    pub operations_before: usize,
}

impl Failure {
    pub(super) fn shrunk(
        seed: u64,
        played: Played,
        violation: Violation,
        mut replay: impl FnMut(&Plan) -> Replayed,
    ) -> Self {
        let operations_before = operations(&played.history);
        let rule = violation.rule;
        let plan = shrink(played.plan.clone(), SHRINKING, |candidate| {
            let replayed = replay(candidate);
            breaking(replayed.verdict, rule).map(|_| replayed.played.plan)
        });
        let smallest = replay(&plan);
        let (played, violation) = match breaking(smallest.verdict, rule) {
            Some(violation) => (smallest.played, violation),
            // Whatever is not deterministic may fail to fail.
            None => (played, violation),
        };
        Self {
            seed,
            violation,
            played,
            operations_before,
        }
    }
}

/// How this rule is broken, if it is.
fn breaking(verdict: Verdict, rule: &str) -> Option<Violation> {
    match verdict {
        Verdict::Broken(violations) => {
            let mut violations = violations.into_iter();
            violations.find(|violation| violation.rule == rule)
        }
        Verdict::Holds | Verdict::Inconclusive => None,
    }
}
