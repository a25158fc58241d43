//! The table of strategies: the rules that each breaks, and under which conditions.

use std::fmt::Write;

use queue_core::Condition;

use crate::{Cell, Strategy, TrialCondition, kept::is_shown_elsewhere};

/// A strategy and its runs.
#[derive(Debug)]
pub(crate) struct StrategyRow {
    /// The strategy.
    pub(crate) strategy: Strategy,
    /// Its runs, by condition.
    pub(crate) cells: Vec<(TrialCondition, Cell)>,
}

impl StrategyRow {
    /// The declared and the found rules as text: each rule with its runs, or with its other proof.
    fn broken(&self, when: impl Fn(TrialCondition) -> bool) -> String {
        let guarantees = &self.strategy.guarantees;
        let mut rules: Vec<String> = Vec::new();
        for (condition, cell) in self.cells.iter().filter(|(condition, _)| when(*condition)) {
            for caveat in condition.declared(guarantees) {
                let alone = (*condition != TrialCondition::NoFaults).then(|| {
                    let mut all = guarantees.caveats.iter();
                    all.any(|other| other.rule == caveat.rule && other.when == Condition::NoFaults)
                });
                if alone == Some(true) {
                    continue;
                }
                let runs = match cell.of(caveat) {
                    Some(found) => format!("{} of {}", found.runs, cell.runs),
                    None if is_shown_elsewhere(guarantees.name, caveat) => {
                        "by a plain test".to_owned()
                    }
                    None if self.strategy.is_repeatable() => "by a kept run".to_owned(),
                    None => "in more runs".to_owned(),
                };
                rules.push(match condition {
                    TrialCondition::Fault(fault) => format!("{} {fault} ({runs})", caveat.rule),
                    _ => format!("{} ({runs})", caveat.rule),
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
        let caveats = self.strategy.guarantees.caveats.iter();
        let absent = caveats.filter(|caveat| caveat.when == Condition::Absent);
        let absent: Vec<&str> = absent.map(|caveat| caveat.rule).collect();
        absent.join(", ")
    }
}

/// The table, for docs/strategies.md.
pub(crate) fn markdown(rows: &[StrategyRow]) -> String {
    let mut table = String::from(
        "| strategy | kind | broken alone | besides, under a fault | equal bodies | clock ahead | not there |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in rows {
        let guarantees = &row.strategy.guarantees;
        let columns = [
            row.broken(|condition| condition == TrialCondition::NoFaults),
            row.broken(|condition| matches!(condition, TrialCondition::Fault(_))),
            row.broken(|condition| condition == TrialCondition::EqualBodies),
            row.broken(|condition| condition == TrialCondition::ClockAhead),
            row.absent(),
        ];
        let (name, kind, columns) = (guarantees.name, guarantees.kind, columns.join(" | "));
        // A string takes any text.
        let _ = writeln!(table, "| {name} | {kind} | {columns} |");
    }
    table
}
