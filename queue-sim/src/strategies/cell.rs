use std::{collections::BTreeMap, ops::Range};

use queue_core::Weaker;

use super::{Condition, Strategy, condition::is_same};
use crate::{
    check::Finding,
    history::Event,
    plan::{Decisions, Plan, shrink},
    report::timeline,
    run::{Played, Replayed, Runner, Scenario, Simulation},
    workload::Mode,
    world::Environment,
};

/// The most runs that shrinking one counterexample may take.
const SHRINKING: usize = 120;

/// The runs of a strategy under a condition.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The runs played.
    pub runs: u64,
    /// The runs in which the condition's fault struck; all where it has none.
    pub exercised: u64,
    /// The rules that runs broke.
    pub found: BTreeMap<String, Found>,
}

/// A broken rule.
#[derive(Debug, Clone)]
pub struct Found {
    /// The runs that broke it.
    pub runs: u64,
    /// How the first one broke it.
    pub message: String,
    /// The decisions of the first one.
    pub plan: Plan,
}

impl Cell {
    /// The counterexample of a declared rule.
    pub fn of(&self, weaker: &Weaker) -> Option<&Found> {
        let mut found = self.found.iter();
        let same = || found.find_map(|(rule, found)| is_same(rule, weaker.rule).then_some(found));
        self.found.get(weaker.rule).or_else(same)
    }

    /// The rules that runs broke and that the strategy does not declare for this condition, each with
    /// a small run that shows it.
    pub fn undeclared(
        &self,
        strategy: &Strategy,
        environment: &mut dyn Environment,
        condition: Condition,
    ) -> Vec<String> {
        let found = self.found.iter();
        let undeclared = found.filter(|(rule, _)| !condition.breaks(&strategy.guarantees, rule));
        let told = undeclared.map(|(rule, found)| {
            let story = story(strategy, environment, condition, found, rule);
            format!("{rule} is not declared: {story}")
        });
        told.collect()
    }
}

/// A small run that breaks the rule, as lanes in time; its message where it cannot be played again.
fn story(
    strategy: &Strategy,
    environment: &mut dyn Environment,
    condition: Condition,
    found: &Found,
    rule: &str,
) -> String {
    let plan = smaller(strategy, environment, condition, found.plan.clone(), rule);
    let mut runner = Runner::new(scenario(strategy, condition), environment);
    let replayed = runner.plan(&plan);
    match breaking(&replayed, rule) {
        Some(finding) => timeline(&replayed.run.config, &replayed.run.history, finding, None),
        None => found.message.clone(),
    }
}

fn scenario(strategy: &Strategy, condition: Condition) -> Scenario {
    let mut scenario = Scenario::new(strategy.guarantees.kind);
    scenario.mode = Some(Mode::Faults);
    scenario.faults = Some(condition.faults());
    scenario.guarantees = (!strategy.is_default()).then(|| strategy.guarantees.clone());
    scenario.equal_bodies = condition == Condition::EqualBodies;
    scenario
}

/// Plays a strategy under a condition.
pub fn play(
    strategy: &Strategy,
    environment: &mut dyn Environment,
    condition: Condition,
    seeds: Range<u64>,
) -> Cell {
    let mut runner = Runner::new(scenario(strategy, condition), environment);
    let mut cell = Cell::default();
    for seed in seeds {
        let played = runner.play(&Decisions::seeded(seed));
        cell.runs += 1;
        cell.exercised += u64::from(exercises(condition, &played));
        let verdict = runner.simulation().judge(&played);
        for finding in first_of_each_rule(verdict.findings()) {
            let found = cell.found.entry(finding.rule.to_string());
            let found = found.or_insert_with(|| Found {
                runs: 0,
                message: finding.message.to_string(),
                plan: played.plan.clone(),
            });
            found.runs += 1;
        }
    }
    cell
}

/// Plays a plan. Answers how it breaks this rule, if it does.
pub fn replay(
    strategy: &Strategy,
    environment: &mut dyn Environment,
    condition: Condition,
    plan: &Plan,
    rule: &str,
) -> Option<String> {
    let mut runner = Runner::new(scenario(strategy, condition), environment);
    let replayed = runner.plan(plan);
    breaking(&replayed, rule).map(|finding| finding.message.to_string())
}

/// Makes a counterexample smaller.
pub fn smaller(
    strategy: &Strategy,
    environment: &mut dyn Environment,
    condition: Condition,
    plan: Plan,
    rule: &str,
) -> Plan {
    let mut runner = Runner::new(scenario(strategy, condition), environment);
    shrink(plan, SHRINKING, |candidate| {
        let replayed = runner.plan(candidate);
        breaking(&replayed, rule)?;
        Some(replayed.run.plan)
    })
}

fn breaking<'a>(replayed: &'a Replayed<Played>, rule: &str) -> Option<&'a Finding> {
    let mut findings = replayed.findings().iter();
    findings.find(|finding| is_same(&finding.rule, rule))
}

/// Whether the condition's fault struck.
fn exercises(condition: Condition, played: &Played) -> bool {
    let name = match condition {
        Condition::Alone | Condition::EqualBodies => return true,
        Condition::Fault(_) | Condition::ClockAhead => condition.to_string(),
    };
    let mut events = played.history.events.iter();
    events.any(|(_, event)| matches!(event, Event::Fault(fault, _) if *fault == name))
}

fn first_of_each_rule(findings: &[Finding]) -> impl Iterator<Item = &Finding> {
    findings.iter().enumerate().filter_map(|(at, finding)| {
        let mut before = findings[..at].iter();
        let known = before.any(|other| other.rule == finding.rule);
        (!known).then_some(finding)
    })
}
