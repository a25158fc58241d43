//! Published strategies under the simulator: each under each condition, and the rules that it breaks.
//!
//! A strategy declares the rules that it breaks, with condition and reason ([`Guarantees`](queue_core::Guarantees)).
//! The tests play kept counterexamples of the declared rules, and look in runs of the day's seeds for broken rules that
//! are not declared. `QUEUE_STRATEGY=stream` plays only strategies with this text in their names, and `EXPECTED=write`
//! keeps a counterexample of each declared rule that has none.

#![cfg(unix)]

mod cell;
mod condition;
mod judge;
mod kept;
mod list;
mod page;
mod table;
mod trial;

use std::env;

use queue_sim::sim::{first_seed_of_the_day, seeds_or};

use self::{
    cell::{BrokenRule, Cell},
    condition::TrialCondition,
    judge::judge_all,
    list::{Strategy, all, recipes},
    table::{StrategyRow, markdown},
};

/// Runs of each strategy under each condition.
const SEEDS: u64 = 20;

/// Whether to write what is missing.
fn writes() -> bool {
    env::var("EXPECTED").is_ok_and(|value| value == "write")
}

#[test]
fn each_breaks_what_it_declares_and_nothing_else() {
    let mut strategies = recipes();
    if let Ok(wanted) = env::var("QUEUE_STRATEGY") {
        strategies.retain(|strategy| strategy.guarantees.name.contains(&wanted));
        assert!(!strategies.is_empty(), "no strategy's name has {wanted:?}");
    }
    let first = first_seed_of_the_day();
    let seeds = first..first + seeds_or(SEEDS);
    let (_, faults) = judge_all(strategies, seeds, writes());
    let faults = faults.join("\n");
    assert!(
        faults.is_empty(),
        "QUEUE_SIM_FIRST_SEED={first} plays these again:\n{faults}"
    );
}
