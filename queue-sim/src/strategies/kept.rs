//! Counterexamples that are kept.

use std::path::{Path, PathBuf};

use queue_core::Weaker;

use super::{Condition, Found, Strategy, replay, smaller};
use crate::{plan::Regressions, world::Environment};

/// Rules that a strategy declares, and that no run can show: plain tests of queue-redis do.
const ELSEWHERE: [(&str, &str); 9] = [
    // Hardly any run has a push between two commands of a tick.
    ("wait-active", "L7"),
    // Without the server's truth, no run knows that two due times are the same millisecond.
    ("zset-json", "D2"),
    ("zset-json with processing", "D2"),
    // Each client of the simulation comes back.
    ("private-backup", "L7"),
    // Everybody asks for short leases at the end.
    ("stream", "L7"),
    // The wire has no MULTI.
    ("priority-lists", "P1"),
    // Seen under faults, and too rarely alone.
    ("priority-lists", "P3"),
    // A body that a refresh dropped is not told from one that the length dropped.
    ("distinct-zset", "B2"),
    // A push without an answer may have come.
    ("key-lock", "L9"),
];

/// Whether a plain test shows that the strategy breaks this rule.
pub(super) fn is_shown_elsewhere(strategy: &str, rule: &str) -> bool {
    ELSEWHERE.contains(&(strategy, rule))
}

/// The counterexample of a rule that a strategy declares for a condition.
#[derive(Debug)]
pub struct Kept<'a> {
    strategy: &'a Strategy,
    condition: Condition,
    weaker: &'a Weaker,
    file: Regressions,
}

impl<'a> Kept<'a> {
    /// One for each rule that the strategy declares for the condition, but for those that a plain test
    /// shows; none where runs are not repeatable.
    pub fn all(strategy: &'a Strategy, condition: Condition) -> impl Iterator<Item = Self> {
        let guarantees = &strategy.guarantees;
        let declared = condition.declared(guarantees).filter(|weaker| {
            strategy.is_repeatable() && !is_shown_elsewhere(guarantees.name, weaker.rule)
        });
        declared.map(move |weaker| Self::of(strategy, condition, weaker))
    }

    /// The rule.
    pub const fn weaker(&self) -> &Weaker {
        self.weaker
    }

    fn of(strategy: &'a Strategy, condition: Condition, weaker: &'a Weaker) -> Self {
        let name = format!("{} {condition}", strategy.guarantees.name);
        Self {
            strategy,
            condition,
            weaker,
            file: Regressions::of(&folder(), &name, "redis"),
        }
    }

    /// Plays it: does it still show that the rule is broken?
    ///
    /// # Errors
    ///
    /// It does not, or there is none: a text that says so.
    pub fn replay(&self, environment: &mut dyn Environment) -> Result<String, String> {
        let kept = self.file.read().map_err(|error| error.to_string())?;
        if kept.is_empty() {
            return Err("has no counterexample that is kept".to_owned());
        }
        // One plan may show several rules.
        let (strategy, condition, rule) = (self.strategy, self.condition, self.weaker.rule);
        let mut shown = kept
            .iter()
            .filter_map(|kept| replay(strategy, environment, condition, &kept.plan, rule));
        shown
            .next()
            .ok_or_else(|| "is shown by no kept counterexample any more".to_owned())
    }

    /// Keeps what a run found, made smaller, unless a counterexample is kept already.
    ///
    /// # Errors
    ///
    /// Nothing was found, or the file cannot be written.
    pub fn keep(
        &self,
        environment: &mut dyn Environment,
        found: Option<&Found>,
    ) -> Result<String, String> {
        if let Ok(shown) = self.replay(environment) {
            return Ok(shown);
        }
        let found = found.ok_or("was not found")?;
        let (strategy, condition, rule) = (self.strategy, self.condition, self.weaker.rule);
        let plan = smaller(strategy, environment, condition, found.plan.clone(), rule);
        let kept = self.file.keep(rule, &plan);
        kept.map_err(|error| error.to_string())?;
        Ok(found.message.clone())
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sim-regressions/strategies")
}
