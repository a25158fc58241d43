use std::collections::BTreeSet;

use queue_core::QueueKind;

use super::{Played, RunFailure, Runner, Scenario, Simulation, Totals};
use crate::{
    check::{Finding, Verdict, goals, reached},
    plan::{Decisions, Plan},
    workload,
    world::{Environment, Fault},
};

/// Plays runs of one scenario, checks and counts them, and shrinks failing runs.
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
    failures: Vec<(u64, RunFailure<Played>)>,
}

impl<'a> Runs<'a> {
    /// Prepares runs of this scenario in this environment; none is played yet.
    pub fn new(scenario: Scenario, environment: &'a mut dyn Environment) -> Self {
        Self {
            missing: all_goals(scenario.kind, environment),
            runner: Runner::new(scenario, environment),
            totals: Totals::default(),
            failures: Vec::new(),
        }
    }

    /// Plays every run twice: again by its seed, or by its plan, in turns. If the two histories
    /// differ, the run breaks `determinism`.
    #[must_use]
    pub fn twice(mut self) -> Self {
        self.runner = self.runner.twice();
        self
    }

    /// A runner of the same scenario in the same environment. It plays plans, and the totals do not
    /// count them.
    pub fn runner(&mut self) -> &mut Runner<'a, Scenario> {
        &mut self.runner
    }

    /// The totals so far.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The first run that broke each rule, shrunk, and its seed.
    pub fn failures(&self) -> &[(u64, RunFailure<Played>)] {
        &self.failures
    }

    /// Plays and checks the run of a seed. If it is the first to break a rule, this shrinks it at
    /// once.
    pub fn seed(&mut self, seed: u64) {
        self.seed_but_for(seed, &Plan::default());
    }

    /// As [`seed`](Self::seed), but this plan decides at its choice points: for a rare sort of run.
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
            let unmet = again.unmet();
            if different.is_none() && !unmet.is_empty() {
                let message = format!("a run's own plan asks for more than the run: {unmet:?}");
                different = Some(Finding::new("determinism", message));
            }
        }
        let verdict = match different {
            Some(different) => Verdict::Broken(vec![different]),
            None => self.runner.simulation().judge(&played),
        };
        self.totals.count(seed, &played);
        // The search for goals takes as long as some rules do.
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

    /// Adds the totals and failures of runs of the same scenario that another thread played in its
    /// own environment.
    pub fn absorb(&mut self, other: Runs<'_>) {
        self.missing.retain(|goal| other.missing.contains(goal));
        self.totals.absorb(other.totals);
        self.failures.extend(other.failures);
        // Keeps the first failure of each rule, as if one thread had played all runs.
        self.failures.sort_by_key(|(seed, _)| *seed);
        let mut known = BTreeSet::new();
        self.failures
            .retain(|(_, failure)| known.insert(failure.finding.rule.clone()));
    }

    /// This kind's goals that no run has reached so far.
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

/// The goals of the processes' actions, of the histories, and of this environment alone.
fn all_goals(kind: QueueKind, environment: &dyn Environment) -> BTreeSet<&'static str> {
    let mut all = goals(kind);
    all.extend(workload::goals(kind));
    all.extend(environment.goals(kind));
    all
}
