//! All strategies under all their conditions, side by side.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    ops::Range,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{Strategy, StrategyRow, TrialCondition, kept::Kept, trial::Trial};

/// The number of runs in which the fault of each condition strikes at least once.
const STRIKES: u64 = 200;

/// Plays each strategy under its conditions, one run for each seed, and prints the rules that it broke. Returns the rows
/// of the table in the order of the strategies, and the faults. A fault is a broken rule that is not declared, a
/// declared rule without a counterexample that still shows it, or a condition that never struck in 200 runs or more.
/// With `keeps`, it makes and keeps a counterexample of each declared rule that has none.
pub(crate) fn judge_all(
    strategies: Vec<Strategy>,
    seeds: Range<u64>,
    keeps: bool,
) -> (Vec<StrategyRow>, Vec<String>) {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let left = Mutex::new(strategies.into_iter().enumerate());
    let judged = Mutex::new((BTreeMap::new(), Vec::new()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((place, strategy)) = next(&left) {
                    let (row, report, faults) = judge(strategy, seeds.clone(), keeps);
                    print!("{report}");
                    let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
                    judged.0.insert(place, row);
                    judged.1.extend(faults);
                }
            });
        }
    });
    let (rows, faults) = judged.into_inner().unwrap_or_else(PoisonError::into_inner);
    (rows.into_values().collect(), faults)
}

fn next<T>(left: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    left.next()
}

/// Plays a strategy under its conditions. Returns its row, a report of the rules that it broke, and the faults.
fn judge(strategy: Strategy, seeds: Range<u64>, keeps: bool) -> (StrategyRow, String, Vec<String>) {
    let guarantees = &strategy.guarantees;
    let mut report = format!("{} ({})\n", guarantees.name, guarantees.kind);
    let mut cells = Vec::new();
    let mut faults = Vec::new();
    for condition in TrialCondition::all().filter(|condition| strategy.plays(*condition)) {
        let place = format!("{} ({}), {condition}", guarantees.name, guarantees.kind);
        let mut environment = match strategy.environment(condition) {
            Ok(environment) => environment,
            Err(error) => {
                faults.push(format!("{place}: {error}"));
                continue;
            }
        };
        let mut trial = Trial::new(&strategy, condition, &mut *environment);
        let cell = trial.play(seeds.clone());
        if cell.exercised == 0 && cell.runs >= STRIKES {
            faults.push(format!("{place}: it never struck in {} runs", cell.runs));
        }
        for (rule, found) in &cell.found {
            let (broke, message) = (found.runs, &found.message);
            let runs = cell.runs;
            report += &format!("  {condition}: {rule} in {broke} of {runs}: {message}\n");
        }
        let undeclared = trial.undeclared(&cell);
        faults.extend(undeclared.iter().map(|rule| format!("{place}: {rule}")));
        for kept in Kept::all(&strategy, condition) {
            let caveat = kept.caveat();
            let shown = match keeps {
                true => kept.keep(&mut trial, cell.of(caveat)),
                false => kept.replay(&mut trial),
            };
            if let Err(missing) = shown {
                faults.push(format!("{place}: {} {missing}", caveat.rule));
            }
        }
        cells.push((condition, cell));
    }
    (StrategyRow { strategy, cells }, report, faults)
}
