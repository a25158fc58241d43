//! The command line.

use std::path::PathBuf;

use clap::{Parser, builder::PossibleValuesParser};
use queue_benches::report::{effort::Effort, scenario::Scenario, scenarios::ALL};

/// Measures queues on Redis servers of its own, each figure beside raw commands in the same run
///
/// Prints a table, and writes it to the folder: as report.txt and as report.json. A full run takes about a
/// quarter of an hour. Other work on the machine makes its figures worthless. It needs redis-server, and
/// taskset, by which client and server share a core (same) or have one each (split).
#[derive(Debug, Parser)]
#[command(after_help = scenarios())]
pub(crate) struct Arguments {
    /// Every scenario with so few jobs that the figures say nothing: for tests
    #[arg(long)]
    quick: bool,
    /// This scenario alone; more than once for several
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(ALL.iter().map(|one| one.name)))]
    only: Vec<String>,
    /// The folder of the report's files
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/report"))]
    pub(crate) out: PathBuf,
    /// Measures nothing; writes the part of benches/README.md from the report that is in the folder
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    pub(crate) readme: bool,
}

impl Arguments {
    pub(crate) const fn effort(&self) -> Effort {
        if self.quick {
            Effort::Quick
        } else {
            Effort::Full
        }
    }

    /// The scenarios to measure, each once.
    pub(crate) fn scenarios(&self) -> Vec<&'static Scenario> {
        let is_meant = |name: &str| self.only.is_empty() || self.only.iter().any(|one| one == name);
        ALL.iter().filter(|one| is_meant(one.name)).collect()
    }
}

fn scenarios() -> String {
    let scenarios = ALL
        .iter()
        .map(|one| format!("  {:<10}  {}\n", one.name, one.about));
    format!("Scenarios:\n{}", scenarios.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(line: &str) -> Vec<&'static str> {
        let words = ["report"].into_iter().chain(line.split_whitespace());
        let read = Arguments::try_parse_from(words).unwrap();
        read.scenarios()
            .iter()
            .map(|scenario| scenario.name)
            .collect()
    }

    #[test]
    fn only_picks_each_scenario_once() {
        assert_eq!(measured("").len(), ALL.len());
        assert_eq!(
            measured("--only idle --only worker --only idle"),
            ["worker", "idle"]
        );
    }

    #[test]
    fn readme_measures_nothing() {
        for line in ["report --readme --quick", "report --only idle --readme"] {
            let error = Arguments::try_parse_from(line.split_whitespace()).unwrap_err();
            assert!(error.to_string().contains("cannot be used with"), "{error}");
        }
    }
}
