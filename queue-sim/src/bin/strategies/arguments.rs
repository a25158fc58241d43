use std::ops::Range;

use clap::{CommandFactory, Parser, error::ErrorKind};

/// Plays the default queues and all published strategies under the simulator's conditions, each on a
/// server of its own, and writes the table of what they keep and break into docs/strategies.md
#[derive(Debug, Parser)]
#[command(after_help = "\
Ends with 1 if a strategy breaks a rule that it does not declare, if a declared one has no
counterexample that still shows it, if a condition never struck, or if the table differs; with 2 if it
was called in another way.")]
pub(crate) struct Arguments {
    /// Runs of each strategy under each condition
    #[arg(long, default_value_t = 500)]
    seeds: u64,
    /// The first seed; any but the default, whose runs the page shows, writes and compares no table
    #[arg(long, default_value_t = 0)]
    first_seed: u64,
    /// Only strategies whose names have this text; writes no table
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only conditions whose names have this text (alone, delayed, …); writes no table
    #[arg(long, value_name = "TEXT")]
    under: Option<String>,
    /// Keeps a counterexample of each declared rule that has none yet
    #[arg(long)]
    pub(crate) keep: bool,
    /// Writes nothing, and compares the table
    #[arg(long)]
    pub(crate) check: bool,
}

impl Arguments {
    /// Reads the command line, or ends the program.
    pub(crate) fn read() -> Self {
        let read = Self::parse();
        if read.first_seed.checked_add(read.seeds).is_none() {
            let wrong = "there are not so many seeds after the first one";
            Self::command()
                .error(ErrorKind::ValueValidation, wrong)
                .exit();
        }
        read
    }

    /// The seeds to play.
    pub(crate) const fn range(&self) -> Range<u64> {
        self.first_seed..self.first_seed + self.seeds
    }

    /// Whether to play the strategy of this name.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    /// Whether to play strategies under the condition of this name.
    pub(crate) fn plays(&self, condition: &str) -> bool {
        let mut under = self.under.iter();
        under.all(|under| condition.contains(under))
    }

    /// Whether all strategies are played under all conditions, and the page's seeds, so that there is a whole table.
    pub(crate) const fn writes(&self) -> bool {
        self.only.is_none() && self.under.is_none() && self.first_seed == 0
    }
}
