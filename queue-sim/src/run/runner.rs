use std::fmt;

use super::Simulation;
use crate::{
    check::{Finding, Verdict},
    plan::{Decisions, Misfit, Plan, Regression, Site, shrink},
    world::Environment,
};

/// So many runs may be spent on making one failure small.
const SHRINKING: usize = 3_000;

/// Plays runs of a simulation in one environment: of decisions, of plans that are kept, and ever smaller
/// ones of what fails.
pub struct Runner<'a, S> {
    simulation: S,
    environment: &'a mut dyn Environment,
    twice: bool,
}

/// What became of a plan.
#[derive(Debug)]
pub struct Replayed<R> {
    /// The run that it led to.
    pub run: R,
    /// What the checks say of that.
    pub verdict: Verdict,
    /// Its decisions that nobody asked for. If there are any, it is a plan of other code than this,
    /// and that the rules hold says little.
    pub unmet: Vec<Site>,
}

/// Why a kept plan does not pass.
#[derive(Debug)]
pub enum Relapse<R> {
    /// It breaks a rule, the same again or another.
    Broken(Box<Replayed<R>>),
    /// The checks ran out of their budget.
    Inconclusive,
    /// It passes, but no longer fits the code.
    Misfit(Misfit),
}

/// A run that broke a rule, as small as it could be made.
#[derive(Debug, Clone)]
pub struct Failure<R> {
    /// The rule that it breaks, and how.
    pub finding: Finding,
    /// The small run, which breaks the same rule.
    pub run: R,
    /// How many operations there were before it was made small.
    pub operations_before: usize,
}

impl<'a, S: Simulation> Runner<'a, S> {
    /// Plays this simulation in this environment.
    pub fn new(simulation: S, environment: &'a mut dyn Environment) -> Self {
        Self {
            simulation,
            environment,
            twice: false,
        }
    }

    /// Plays every plan twice: a run that does not come out the same breaks `determinism`.
    #[must_use]
    pub fn twice(mut self) -> Self {
        self.twice = true;
        self
    }

    /// Whether every plan is played twice.
    pub fn plays_twice(&self) -> bool {
        self.twice
    }

    /// What is simulated.
    pub fn simulation(&self) -> &S {
        &self.simulation
    }

    /// What it is played on.
    pub fn environment(&self) -> &dyn Environment {
        &*self.environment
    }

    /// Plays the run of these decisions.
    pub fn play(&mut self, decisions: &Decisions) -> S::Run {
        self.simulation.play(self.environment, decisions)
    }

    /// Plays a run again, and answers where it is not the same.
    pub fn compare(&mut self, run: &S::Run, again: &Decisions) -> Option<Finding> {
        let second = self.play(again);
        self.simulation.differ(run, &second)
    }

    /// Plays the run of a plan, and checks it.
    pub fn plan(&mut self, plan: &Plan) -> Replayed<S::Run> {
        let decisions = Decisions::planned(plan.clone());
        let run = self.play(&decisions);
        let again = Decisions::planned(plan.clone());
        let different = match self.twice {
            true => self.compare(&run, &again),
            false => None,
        };
        Replayed {
            verdict: match different {
                Some(different) => Verdict::Broken(vec![different]),
                None => self.simulation.judge(&run),
            },
            run,
            unmet: decisions.unmet(),
        }
    }

    /// Plays a kept plan.
    ///
    /// # Errors
    ///
    /// It does not pass, and why.
    pub fn regression(&mut self, kept: &Regression) -> Result<Replayed<S::Run>, Relapse<S::Run>> {
        let replayed = self.plan(&kept.plan);
        match replayed.verdict {
            Verdict::Broken(_) => Err(Relapse::Broken(Box::new(replayed))),
            Verdict::Inconclusive => Err(Relapse::Inconclusive),
            Verdict::Holds => match kept.misfit(&replayed.unmet) {
                Some(misfit) => Err(Relapse::Misfit(misfit)),
                None => Ok(replayed),
            },
        }
    }

    /// Makes a run small that breaks a rule.
    pub fn shrink(&mut self, run: S::Run, finding: Finding) -> Failure<S::Run> {
        let operations_before = self.simulation.operations(&run);
        let plan = self.simulation.plan(&run).clone();
        let plan = shrink(plan, SHRINKING, |candidate| {
            let replayed = self.plan(candidate);
            replayed.breaking(&finding.rule)?;
            Some(self.simulation.plan(&replayed.run).clone())
        });
        let smallest = self.plan(&plan);
        let (run, finding) = match smallest.breaking(&finding.rule).cloned() {
            Some(finding) => (smallest.run, finding),
            // What is not deterministic may fail to fail.
            None => (run, finding),
        };
        Failure {
            finding,
            run,
            operations_before,
        }
    }
}

impl<R> Replayed<R> {
    /// The rules that it breaks.
    pub fn findings(&self) -> &[Finding] {
        self.verdict.findings()
    }

    /// How it breaks this rule, if it does.
    fn breaking(&self, rule: &str) -> Option<&Finding> {
        let mut findings = self.findings().iter();
        findings.find(|finding| finding.rule == rule)
    }
}

impl<S: fmt::Debug> fmt::Debug for Runner<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("simulation", &self.simulation)
            .field("environment", &self.environment)
            .field("twice", &self.twice)
            .finish()
    }
}
