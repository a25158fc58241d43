use queue_sim::{
    check::Finding,
    plan::{Decisions, Plan, shrink},
    report::timeline,
    run::{Played, Replayed, Runner, Scenario, Simulation},
    workload::Mode,
    world::Environment,
};
use std::ops::Range;

use crate::{BrokenRule, Cell, Strategy, TrialCondition, condition::is_same};

/// The most runs that shrinking one counterexample may take.
const SHRINKING: usize = 120;

/// Plays a strategy under a condition.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    strategy: &'a Strategy,
    condition: TrialCondition,
    runner: Runner<'a, Scenario>,
}

impl<'a> Trial<'a> {
    /// In the strategy's [`environment`](Strategy::environment) under the condition.
    pub(crate) fn new(
        strategy: &'a Strategy,
        condition: TrialCondition,
        environment: &'a mut dyn Environment,
    ) -> Self {
        let mut scenario = Scenario::new(strategy.guarantees.kind);
        scenario.mode = Some(Mode::Faults);
        scenario.faults = Some(condition.faults());
        scenario.guarantees = (!strategy.is_default()).then(|| strategy.guarantees.clone());
        scenario.equal_bodies = condition == TrialCondition::EqualBodies;
        Self {
            strategy,
            condition,
            runner: Runner::new(scenario, environment),
        }
    }

    /// Plays the runs of these seeds.
    pub(crate) fn play(&mut self, seeds: Range<u64>) -> Cell {
        let mut cell = Cell::default();
        for seed in seeds {
            let played = self.runner.play(&Decisions::seeded(seed));
            cell.runs += 1;
            cell.exercised += u64::from(self.is_exercised_by(&played));
            let verdict = self.runner.simulation().judge(&played);
            for finding in first_of_each_rule(verdict.findings()) {
                let found = cell.found.entry(finding.rule.to_string());
                let found = found.or_insert_with(|| BrokenRule {
                    runs: 0,
                    message: finding.message.to_string(),
                    plan: played.plan.clone(),
                });
                found.runs += 1;
            }
        }
        cell
    }

    /// Whether the condition's fault struck.
    fn is_exercised_by(&self, played: &Played) -> bool {
        let name = match self.condition {
            TrialCondition::NoFaults | TrialCondition::EqualBodies => return true,
            TrialCondition::Fault(_) | TrialCondition::ClockAhead => self.condition.to_string(),
        };
        played.history.faults().any(|fault| fault == name)
    }

    /// The rules that runs broke and that the strategy does not declare for this condition, each with
    /// a small run that shows it.
    pub(crate) fn undeclared(&mut self, cell: &Cell) -> Vec<String> {
        let (strategy, condition) = (self.strategy, self.condition);
        let found = cell.found.iter();
        let undeclared = found.filter(|(rule, _)| !condition.breaks(&strategy.guarantees, rule));
        let undeclared = undeclared.map(|(rule, found)| {
            let report = self.report(found, rule);
            format!("{rule} is not declared: {report}")
        });
        undeclared.collect()
    }

    /// A small run that breaks the rule, as a history view; only its message if it cannot be played again.
    fn report(&mut self, found: &BrokenRule, rule: &str) -> String {
        let plan = self.smaller(found, rule);
        let replayed = self.runner.plan(&plan);
        match breaking(&replayed, rule) {
            Some(finding) => timeline(&replayed.run.config, &replayed.run.history, finding, None),
            None => found.message.clone(),
        }
    }

    /// Plays a plan. Returns true if it breaks this rule.
    pub(crate) fn breaks(&mut self, plan: &Plan, rule: &str) -> bool {
        breaking(&self.runner.plan(plan), rule).is_some()
    }

    /// A smaller counterexample of the rule than the given one.
    pub(crate) fn smaller(&mut self, found: &BrokenRule, rule: &str) -> Plan {
        shrink(found.plan.clone(), SHRINKING, |candidate| {
            let replayed = self.runner.plan(candidate);
            breaking(&replayed, rule)?;
            Some(replayed.run.plan)
        })
    }
}

fn breaking<'a>(replayed: &'a Replayed<Played>, rule: &str) -> Option<&'a Finding> {
    let mut findings = replayed.findings().iter();
    findings.find(|finding| is_same(&finding.rule, rule))
}

fn first_of_each_rule(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().enumerate().filter_map(|(at, finding)| {
        let mut before = findings[..at].iter();
        let known = before.any(|other| other.rule == finding.rule);
        (!known).then_some(finding)
    })
}
