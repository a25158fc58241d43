use std::{collections::BTreeMap, ops::Range};

use super::{Condition, Strategy};
use crate::{
    check::Verdict,
    history::Event,
    plan::{Decisions, Plan},
    run::{Runner, Scenario},
    wire::RedisEnvironment,
    workload::Mode,
};

/// The runs of a strategy under a condition.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// The runs played.
    pub runs: u64,
    /// The runs in which the condition struck, and something was delivered or shown.
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

/// Plays a strategy under a condition.
pub fn play(
    strategy: &Strategy,
    environment: &mut RedisEnvironment,
    condition: Condition,
    seeds: Range<u64>,
) -> Cell {
    environment.set_clocks_ahead(condition == Condition::ClockAhead);
    let mut scenario = Scenario::new(strategy.guarantees.kind);
    scenario.mode = Some(Mode::Faults);
    scenario.faults = Some(condition.faults());
    scenario.guarantees = Some(strategy.guarantees.clone());
    scenario.equal_bodies = condition == Condition::EqualBodies;
    let mut runner = Runner::new(scenario, environment);
    let mut cell = Cell::default();
    for seed in seeds {
        let played = runner.play(&Decisions::seeded(seed));
        cell.runs += 1;
        let struck = played.history.events.iter().any(|(_, event)| match event {
            Event::Fault(name, _) => *name == condition.to_string(),
            _ => false,
        });
        let strikes = matches!(condition, Condition::Fault(_) | Condition::ClockAhead);
        cell.exercised += u64::from(struck || !strikes);
        let Verdict::Broken(findings) = crate::run::Simulation::judge(runner.simulation(), &played)
        else {
            continue;
        };
        let mut rules: Vec<&str> = Vec::new();
        for finding in &findings {
            if rules.contains(&&*finding.rule) {
                continue;
            }
            rules.push(&finding.rule);
            let found = cell.found.entry(finding.rule.to_string());
            let found = found.or_insert_with(|| Found {
                runs: 0,
                message: format!("seed {seed}: {}", finding.message),
                plan: played.plan.clone(),
            });
            found.runs += 1;
        }
    }
    cell
}
