//! Counterexamples that are kept.

use std::path::{Path, PathBuf};

use queue_core::{Caveat, Condition};
use queue_sim::plan::Regressions;

use crate::{BrokenRule, Strategy, TrialCondition, trial::Trial};

/// Rules that a strategy declares, under one condition or under all, and that no run or hardly any run shows. Plain
/// tests show them, in `tests/recipes/`.
const ELSEWHERE: [(&str, &str, Option<Condition>); 13] = [
    // Hardly any run has a push between two commands of a tick.
    ("wait-active", "L7", None),
    // Hardly any run has a claim and a defer between the two commands of a take.
    ("zset-json", "D1", Some(Condition::NoFaults)),
    // Without the server's truth, no run knows that two due times are the same millisecond.
    ("zset-json", "D2", None),
    ("zset-json with processing", "D2", None),
    // Each client of the simulation comes back.
    ("private-backup", "L7", None),
    // Hardly any run has another lease between two pops of one.
    ("shared-backup", "F1", None),
    ("shared-backup", "F2", None),
    ("shared-backup with checker", "F1", None),
    // At the end, all clients ask for short leases.
    ("stream", "L7", None),
    // The wire has no MULTI.
    ("priority-lists", "P1", None),
    // Seen under faults, and too rarely without.
    ("priority-lists", "P3", None),
    // The run cannot distinguish a body that a refresh dropped from a body that the length dropped.
    ("distinct-zset", "B2", None),
    // A push without an answer may have come.
    ("key-lock", "L9", None),
];

/// Whether a plain test shows that the strategy breaks this rule.
pub(crate) fn is_shown_elsewhere(strategy: &str, caveat: &Caveat) -> bool {
    let mut all = ELSEWHERE.iter();
    all.any(|(name, rule, when)| {
        (*name, *rule) == (strategy, caveat.rule) && when.is_none_or(|when| when == caveat.when)
    })
}

/// The counterexample of a rule that a strategy declares for a condition.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    caveat: &'a Caveat,
    file: Regressions,
}

impl<'a> Kept<'a> {
    /// One for each rule that the strategy declares for the condition, except rules that a plain test shows. Without
    /// repeatable runs, none.
    pub(crate) fn all(
        strategy: &'a Strategy,
        condition: TrialCondition,
    ) -> impl Iterator<Item = Self> {
        let guarantees = &strategy.guarantees;
        let declared = condition.declared(guarantees).filter(|caveat| {
            strategy.is_repeatable() && !is_shown_elsewhere(guarantees.name, caveat)
        });
        let name = format!("{} {condition}", guarantees.name);
        declared.map(move |caveat| Self {
            caveat,
            file: Regressions::of(&folder(), &name, "redis"),
        })
    }

    /// The rule.
    pub(crate) const fn caveat(&self) -> &Caveat {
        self.caveat
    }

    /// Plays the counterexample, which must still show that the rule is broken.
    ///
    /// # Errors
    ///
    /// A text, if it does not show that, or if there is no counterexample.
    pub(crate) fn replay(&self, trial: &mut Trial<'_>) -> Result<(), String> {
        let kept = self.file.read().map_err(|error| error.to_string())?;
        if kept.is_empty() {
            return Err("has no counterexample that is kept".to_owned());
        }
        // One plan may show several rules.
        let mut plans = kept.iter().map(|kept| &kept.plan);
        match plans.any(|plan| trial.breaks(plan, self.caveat.rule)) {
            true => Ok(()),
            false => Err("is shown by no kept counterexample any more".to_owned()),
        }
    }

    /// Shrinks and keeps the finding of a run, unless a counterexample is kept already.
    ///
    /// # Errors
    ///
    /// Nothing was found, or the file cannot be written.
    pub(crate) fn keep(
        &self,
        trial: &mut Trial<'_>,
        found: Option<&BrokenRule>,
    ) -> Result<(), String> {
        if self.replay(trial).is_ok() {
            return Ok(());
        }
        let found = found.ok_or("was not found")?;
        let rule = self.caveat.rule;
        let kept = self.file.keep(rule, &trial.smaller(found, rule));
        kept.map_err(|error| error.to_string())
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sim-regressions")
}
