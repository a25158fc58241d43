use super::Simulation;
use crate::{
    check::{Finding, Verdict},
    plan::{ChoicePoint, Decisions, Misfit, Plan, Regression, shrink},
    world::Environment,
};

/// The most runs that shrinking one failure may take.
const SHRINKING: usize = 3_000;

/// Plays runs of a simulation in one environment: from decisions, from kept plans, and, to shrink a failure, from ever
/// smaller plans.
#[derive(Debug)]
pub struct Runner<'a, S> {
    simulation: S,
    environment: &'a mut dyn Environment,
    twice: bool,
}

/// The outcome of a plan.
#[derive(Debug)]
pub struct Replayed<R> {
    /// The plan's run.
    pub run: R,
    /// The checks' verdict on the run.
    pub verdict: Verdict,
    /// The plan's decisions that the run did not ask for. If there are any, the plan belongs to
    /// other code than this, and a run that passes says little.
    pub unmet: Vec<ChoicePoint>,
}

/// The reason why a kept plan does not pass.
#[derive(Debug)]
pub enum Relapse<R> {
    /// Its run breaks a rule: the same rule as before, or another.
    Broken(Box<Replayed<R>>),
    /// The checks ran out of their budget.
    Inconclusive,
    /// The plan passes, but no longer fits the code.
    Misfit(Misfit),
}

/// A run that broke a rule, shrunk.
#[derive(Debug, Clone)]
pub struct RunFailure<R> {
    /// The broken rule, and how the run breaks it.
    pub finding: Finding,
    /// The shrunk run, which breaks the same rule.
    pub run: R,
    /// The number of operations before shrinking.
    pub operations_before: usize,
}

impl<'a, S: Simulation> Runner<'a, S> {
    /// Prepares runs of this simulation in this environment.
    pub fn new(simulation: S, environment: &'a mut dyn Environment) -> Self {
        Self {
            simulation,
            environment,
            twice: false,
        }
    }

    /// Plays every plan twice. If the two runs differ, the run breaks `determinism`.
    #[must_use]
    pub fn twice(mut self) -> Self {
        self.twice = true;
        self
    }

    /// Whether it plays every plan twice.
    pub fn plays_twice(&self) -> bool {
        self.twice
    }

    /// The simulation.
    pub fn simulation(&self) -> &S {
        &self.simulation
    }

    /// The environment.
    pub fn environment(&self) -> &dyn Environment {
        &*self.environment
    }

    /// Plays the run of these decisions.
    pub fn play(&mut self, decisions: &Decisions) -> S::Run {
        self.simulation.play(self.environment, decisions)
    }

    /// Plays a run again, and returns the first difference.
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
    /// The plan does not pass, for this reason.
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

    /// Shrinks a run that breaks a rule.
    pub fn shrink(&mut self, run: S::Run, finding: Finding) -> RunFailure<S::Run> {
        self.shrink_while(run, finding, || true)
    }

    /// Shrinks a run that breaks a rule, until another run may not be played.
    pub(crate) fn shrink_while(
        &mut self,
        run: S::Run,
        finding: Finding,
        may_play: impl Fn() -> bool,
    ) -> RunFailure<S::Run> {
        let operations_before = self.simulation.operations(&run);
        let plan = self.simulation.plan(&run).clone();
        let plan = shrink(plan, SHRINKING, |candidate| {
            if !may_play() {
                return None;
            }
            let replayed = self.plan(candidate);
            replayed.breaking(&finding.rule)?;
            Some(self.simulation.plan(&replayed.run).clone())
        });
        let smallest = self.plan(&plan);
        let (run, finding) = match smallest.breaking(&finding.rule).cloned() {
            Some(finding) => (smallest.run, finding),
            // A run that is not deterministic may not fail again.
            None => (run, finding),
        };
        RunFailure {
            finding,
            run,
            operations_before,
        }
    }
}

impl<R> Replayed<R> {
    /// The rules that the run breaks.
    pub fn findings(&self) -> &[Finding] {
        self.verdict.findings()
    }

    /// The finding by this rule, if the run breaks it.
    fn breaking(&self, rule: &str) -> Option<&Finding> {
        let mut findings = self.findings().iter();
        findings.find(|finding| finding.rule == rule)
    }
}
