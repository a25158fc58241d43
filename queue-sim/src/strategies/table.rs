//! The table of strategies: the rules that each breaks, and under which conditions.

use std::fmt::Write;

use queue_core::When;

use super::{Cell, Condition, Strategy, kept::is_shown_elsewhere};

/// A strategy and its runs.
#[derive(Debug)]
pub struct Row {
    /// The strategy.
    pub strategy: Strategy,
    /// Its runs, by condition.
    pub cells: Vec<(Condition, Cell)>,
}

impl Row {
    /// What is declared and was found, as text: each rule with its runs, or what else shows it.
    fn broken(&self, when: impl Fn(Condition) -> bool) -> String {
        let guarantees = &self.strategy.guarantees;
        let mut rules: Vec<String> = Vec::new();
        for (condition, cell) in self.cells.iter().filter(|(condition, _)| when(*condition)) {
            for weaker in condition.declared(guarantees) {
                let alone = (*condition != Condition::Alone).then(|| {
                    let mut all = guarantees.weaker.iter();
                    all.any(|other| other.rule == weaker.rule && other.when == When::Alone)
                });
                if alone == Some(true) {
                    continue;
                }
                let runs = match cell.of(weaker) {
                    Some(found) => format!("{} of {}", found.runs, cell.runs),
                    None if is_shown_elsewhere(guarantees.name, weaker) => {
                        "by a plain test".to_owned()
                    }
                    None if self.strategy.is_repeatable() => "by a kept run".to_owned(),
                    None => "in more runs".to_owned(),
                };
                rules.push(match condition {
                    Condition::Fault(fault) => format!("{} {fault} ({runs})", weaker.rule),
                    _ => format!("{} ({runs})", weaker.rule),
                });
            }
        }
        let exercised = self.cells.iter().filter(|(condition, _)| when(*condition));
        match rules.is_empty() {
            false => rules.join(", "),
            true if exercised.clone().next().is_none() => "–".to_owned(),
            true => {
                let runs: u64 = exercised.clone().map(|(_, cell)| cell.runs).sum();
                let struck: u64 = exercised.map(|(_, cell)| cell.exercised).sum();
                match runs == struck {
                    true => format!("kept, {runs} runs"),
                    false => format!("kept, {runs} runs, exercised {struck} times"),
                }
            }
        }
    }

    fn absent(&self) -> String {
        let weaker = self.strategy.guarantees.weaker.iter();
        let absent = weaker.filter(|weaker| weaker.when == When::Absent);
        let absent: Vec<&str> = absent.map(|weaker| weaker.rule).collect();
        absent.join(", ")
    }
}

/// The table, for docs/strategies.md.
pub fn markdown(rows: &[Row]) -> String {
    let mut table = String::from(
        "| strategy | kind | broken alone | besides, under a fault | equal bodies | clock ahead | not there |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let guarantees = &row.strategy.guarantees;
        let columns = [
            row.broken(|condition| condition == Condition::Alone),
            row.broken(|condition| matches!(condition, Condition::Fault(_))),
            row.broken(|condition| condition == Condition::EqualBodies),
            row.broken(|condition| condition == Condition::ClockAhead),
            row.absent(),
        ];
        let (name, kind, columns) = (guarantees.name, guarantees.kind, columns.join(" | "));
        // A string takes any text.
        let _ = writeln!(table, "| {name} | {kind} | {columns} |");
    }
    table
}
