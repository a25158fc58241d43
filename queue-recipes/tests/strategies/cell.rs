use std::collections::BTreeMap;

use queue_core::Caveat;
use queue_sim::plan::Plan;

use crate::condition::is_same;

/// The runs of a strategy under a condition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    /// The runs played.
    pub(crate) runs: u64,
    /// The runs in which the condition's fault struck; all where it has none.
    pub(crate) exercised: u64,
    /// The rules that runs broke.
    pub(crate) found: BTreeMap<String, BrokenRule>,
}

/// A broken rule.
#[derive(Debug, Clone)]
pub(crate) struct BrokenRule {
    /// The runs that broke it.
    pub(crate) runs: u64,
    /// How the first one broke it.
    pub(crate) message: String,
    /// The decisions of the first one.
    pub(crate) plan: Plan,
}

impl Cell {
    /// The counterexample of a declared rule.
    pub(crate) fn of(&self, caveat: &Caveat) -> Option<&BrokenRule> {
        let mut found = self.found.iter();
        let same = || found.find_map(|(rule, found)| is_same(rule, caveat.rule).then_some(found));
        self.found.get(caveat.rule).or_else(same)
    }
}
