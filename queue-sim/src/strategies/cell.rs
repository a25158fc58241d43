use std::collections::BTreeMap;

use queue_core::Caveat;

use super::condition::is_same;
use crate::plan::Plan;

/// The runs of a strategy under a condition.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The runs played.
    pub runs: u64,
    /// The runs in which the condition's fault struck; all where it has none.
    pub exercised: u64,
    /// The rules that runs broke.
    pub found: BTreeMap<String, BrokenRule>,
}

/// A broken rule.
#[derive(Debug, Clone)]
pub struct BrokenRule {
    /// The runs that broke it.
    pub runs: u64,
    /// How the first one broke it.
    pub message: String,
    /// The decisions of the first one.
    pub plan: Plan,
}

impl Cell {
    /// The counterexample of a declared rule.
    pub fn of(&self, caveat: &Caveat) -> Option<&BrokenRule> {
        let mut found = self.found.iter();
        let same = || found.find_map(|(rule, found)| is_same(rule, caveat.rule).then_some(found));
        self.found.get(caveat.rule).or_else(same)
    }
}
