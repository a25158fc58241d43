//! Published strategies break the rules that they declare, and no others. Kept counterexamples show the
//! former, and runs of the day's seeds the latter. The program `strategies` plays more.

use std::{fs, path::Path};

use queue_core::{Condition, Guarantees};
use queue_sim::{
    sim::{first_seed_of_the_day, seeds_or},
    strategies::{TrialCondition, all, judge_all},
};

/// Runs of each strategy under each condition.
const SEEDS: u64 = 20;
/// The number of cores of a small machine.
const THREADS: usize = 2;

#[test]
fn each_breaks_what_it_declares_and_nothing_else() {
    // The default settings have tests of their own.
    let recipes = all().into_iter().filter(|strategy| !strategy.is_default());
    let recipes = recipes.map(|strategy| (strategy, TrialCondition::all().collect()));
    let recipes = recipes.collect();
    let print = |report: &str| print!("{report}");
    let first = first_seed_of_the_day();
    let seeds = first..first + seeds_or(SEEDS);
    let (_, faults) = judge_all(recipes, THREADS, seeds, false, print);
    let faults = faults.join("\n");
    assert!(
        faults.is_empty(),
        "QUEUE_SIM_FIRST_SEED={first} plays these again:\n{faults}"
    );
}

/// The rules that a strategy loses according to the page.
fn loses(guarantees: &Guarantees) -> String {
    let all = |when: Condition, word: &str| {
        let rules = guarantees
            .caveats
            .iter()
            .filter(|caveat| caveat.when == when);
        let rules: Vec<&str> = rules.map(|caveat| caveat.rule).collect();
        (!rules.is_empty()).then(|| format!("{} {word}", rules.join(", ")))
    };
    let mut besides: Vec<(&str, Vec<&str>)> = Vec::new();
    for caveat in &guarantees.caveats {
        let what = match caveat.when {
            Condition::Fault(fault) => fault,
            Condition::EqualBodies => "equal bodies",
            Condition::ClockAhead => "clock ahead",
            _ => continue,
        };
        match besides.iter_mut().find(|(rule, _)| *rule == caveat.rule) {
            Some((_, faults)) => faults.push(what),
            None => besides.push((caveat.rule, vec![what])),
        }
    }
    let besides = besides.iter();
    let besides = besides.map(|(rule, faults)| format!("{rule} {}", faults.join(", ")));
    let parts = all(Condition::NoFaults, "alone").into_iter().chain(besides);
    let parts: Vec<String> = parts.chain(all(Condition::Absent, "absent")).collect();
    parts.join("; ")
}

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_pages_name_each_strategy_and_all_that_it_loses() {
    let page = text("docs/strategies.md");
    let (_, table) = page.split_once("\n## The table\n").expect("the table");
    let (table, _) = table.split_once("\n### ").expect("its end");
    let rows = table.lines().filter(|line| line.starts_with("| ["));
    let print: Vec<&str> = rows
        .map(|row| {
            row.trim_end_matches(" |")
                .rsplit(" | ")
                .next()
                .unwrap_or_default()
        })
        .collect();
    let mut recipes = all();
    recipes.retain(|strategy| !strategy.is_default());
    let lost: Vec<String> = recipes
        .iter()
        .map(|strategy| loses(&strategy.guarantees))
        .collect();
    assert_eq!(print, lost);

    // The words by which the pages count them.
    let module = text("queue-redis/src/recipes/mod.rs");
    let types = module.lines().filter(|line| line.starts_with("//! | [`"));
    assert_eq!((types.count(), recipes.len()), (12, 20));
    assert!(module.starts_with("//! Twelve strategies") && module.contains("they are twenty"));
    assert!(page.contains("twelve of these strategies"));
    assert!(text("README.md").contains("twelve published strategies"));
}
