//! What docs/strategies.md says of the recipes: the rules that each loses, and the table of the simulator's runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use queue_core::{Condition, Guarantees};

use crate::{all, judge_all, markdown, recipes, writes};

const PAGE: &str = "docs/strategies.md";
const BEGIN: &str = "<!-- strategies: begin -->\n";
const END: &str = "<!-- strategies: end -->";
/// The runs of each strategy under each condition that the page shows.
const SEEDS: u64 = 100;

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

fn place(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn text(path: &str) -> String {
    fs::read_to_string(place(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_pages_name_each_strategy_and_all_that_it_loses() {
    let page = text(PAGE);
    let (_, table) = page.split_once("\n## The table\n").expect("the table");
    let (table, _) = table.split_once("\n### ").expect("its end");
    let rows = table.lines().filter(|line| line.starts_with("| ["));
    let printed: Vec<&str> = rows
        .map(|row| {
            row.trim_end_matches(" |")
                .rsplit(" | ")
                .next()
                .unwrap_or_default()
        })
        .collect();
    let recipes = recipes();
    let lost: Vec<String> = recipes
        .iter()
        .map(|strategy| loses(&strategy.guarantees))
        .collect();
    assert_eq!(printed, lost);

    // The words by which the pages count them.
    let module = text("queue-recipes/src/lib.rs");
    let types = module.lines().filter(|line| line.starts_with("//! | [`"));
    assert_eq!((types.count(), recipes.len()), (12, 20));
    assert!(module.starts_with("//! Twelve strategies") && module.contains("they are twenty"));
    assert!(page.contains("twelve of these strategies"));
    assert!(text("README.md").contains("twelve published strategies"));
}

/// How many runs broke a rule changes with the code, so only the rules are compared.
#[test]
#[ignore = "it plays for minutes: EXPECTED=write writes the table again"]
fn the_page_has_the_table_of_the_first_seeds() {
    let page = text(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("the table's begin");
    let (table, after) = rest.split_once(END).expect("the table's end");
    let (rows, faults) = judge_all(all(), 0..SEEDS, false);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let made = markdown(&rows);
    if writes() {
        fs::write(place(PAGE), format!("{before}{BEGIN}{made}{END}{after}")).expect("it writes");
    } else {
        assert_eq!(shape(table), shape(&made), "{made}");
    }
}

/// A table without its figures.
fn shape(table: &str) -> String {
    let mut shape = String::new();
    let mut depth = 0;
    for c in table.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth > 0 => {}
            _ => shape.push(c),
        }
    }
    let lines = shape.lines().map(|line| {
        let columns = line.split('|').map(|column| match column.trim() {
            column if column.starts_with("kept,") => "kept".to_owned(),
            column => column.to_owned(),
        });
        columns.collect::<Vec<_>>().join("|")
    });
    lines.collect::<Vec<_>>().join("\n")
}
