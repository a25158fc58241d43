use std::collections::BTreeSet;

use queue_core::QueueKind;

use super::{Failure, Played, Runner, Scenario, Simulation, Totals};
use crate::{
    check::{Finding, Verdict, goals, reached},
    plan::{Decisions, Plan},
    workload,
    world::{Environment, Fault},
};

/// Plays runs of one scenario, checks them, counts, and shrinks what fails.
///
/// ```
/// use queue_core::QueueKind;
/// use queue_sim::{run::{Runs, Scenario}, world::MemoryEnvironment};
///
/// let mut environment = MemoryEnvironment::new();
/// let mut runs = Runs::new(Scenario::new(QueueKind::Delay), &mut environment).twice();
/// for seed in 0..20 {
///     runs.seed(seed);
/// }
/// assert!(runs.totals().passes());
/// ```
#[derive(Debug)]
pub struct Runs<'a> {
    runner: Runner<'a, Scenario>,
    missing: BTreeSet<&'static str>,
    totals: Totals,
    failures: Vec<(u64, Failure<Played>)>,
}

impl<'a> Runs<'a> {
    /// Runs of this scenario in this environment; none so far.
    pub fn new(scenario: Scenario, environment: &'a mut dyn Environment) -> Self {
        Self {
            missing: all_goals(scenario.kind),
            runner: Runner::new(scenario, environment),
            totals: Totals::default(),
            failures: Vec::new(),
        }
    }

    /// Plays every run twice, by its seed again or by its plan in turns: a history that is not the
    /// same breaks `determinism`.
    #[must_use]
    pub fn twice(mut self) -> Self {
        self.runner = self.runner.twice();
        self
    }

    /// Plays plans of the same scenario on the same environment. They are not counted.
    pub fn runner(&mut self) -> &mut Runner<'a, Scenario> {
        &mut self.runner
    }

    /// What they came to so far.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The first run that broke each rule, as small as it could be made, and its seed.
    pub fn failures(&self) -> &[(u64, Failure<Played>)] {
        &self.failures
    }

    /// Plays and checks the run of a seed. One that breaks a rule which none before it broke is
    /// shrunk at once.
    pub fn seed(&mut self, seed: u64) {
        self.seed_but_for(seed, &Plan::default());
    }

    /// The same, but where this plan decides: for runs of a sort that is rare.
    pub fn seed_but_for(&mut self, seed: u64, given: &Plan) {
        let seeded = || Decisions::seeded_but_for(seed, given.clone());
        let played = self.runner.play(&seeded());
        let mut different = None;
        if self.runner.plays_twice() {
            let again = match seed % 2 {
                0 => seeded(),
                _ => Decisions::planned(played.plan.clone()),
            };
            different = self.runner.compare(&played, &again);
        }
        let verdict = match different {
            Some(different) => Verdict::Broken(vec![different]),
            None => self.runner.simulation().judge(&played),
        };
        self.totals.count(seed, &played);
        // Looking for goals takes as long as some of the rules do.
        if !self.missing.is_empty() {
            self.totals.goals.extend(reached(&played));
            let totals = &self.totals;
            self.missing.retain(|goal| !totals.goals.contains(goal));
        }
        match verdict {
            Verdict::Holds => {}
            Verdict::Inconclusive => self.totals.count_inconclusive(&played),
            Verdict::Broken(findings) => {
                self.totals.violations += 1;
                self.fail(seed, played, findings);
            }
        }
    }

    /// Counts what runs of the same scenario came to that were played beside these, on another
    /// thread and environment.
    pub fn absorb(&mut self, other: Runs<'_>) {
        self.missing.retain(|goal| other.missing.contains(goal));
        self.totals.absorb(other.totals);
        self.failures.extend(other.failures);
        // The first of each rule, as if they had been played one after another.
        self.failures.sort_by_key(|(seed, _)| *seed);
        let mut known = BTreeSet::new();
        self.failures
            .retain(|(_, failure)| known.insert(failure.finding.rule.clone()));
    }

    /// The goals of this kind of queue that no run has reached so far.
    pub const fn missed_goals(&self) -> &BTreeSet<&'static str> {
        &self.missing
    }

    /// The faults of the environment that struck in no run.
    pub fn unstruck_faults(&self) -> Vec<Fault> {
        self.totals.unstruck(self.runner.environment().faults())
    }

    fn fail(&mut self, seed: u64, played: Played, findings: Vec<Finding>) {
        let Some(finding) = findings.into_iter().next() else {
            return;
        };
        let mut known = self.failures.iter();
        if known.any(|(_, failure)| failure.finding.rule == finding.rule) {
            return;
        }
        let failure = self.runner.shrink(played, finding);
        self.failures.push((seed, failure));
    }
}

/// What lanes must do, and what the checks must get to see of it.
fn all_goals(kind: QueueKind) -> BTreeSet<&'static str> {
    let mut all = goals(kind);
    all.extend(workload::goals(kind));
    all
}
