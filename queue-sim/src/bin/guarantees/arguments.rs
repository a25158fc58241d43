pub(crate) const HELP: &str = "\
Plays the default queues and all published strategies under the simulator's conditions, each on a
server of its own, and writes the table of what they keep and break into docs/strategies.md.

    guarantees [--seeds N] [--only TEXT] [--keep] [--check]

    --seeds N     runs of each strategy under each condition   [500]
    --only TEXT   only strategies whose names have this text; writes no table
    --keep        keeps a counterexample of each declared rule that has none yet
    --check       writes nothing, and compares the table

Ends with 1 if a strategy breaks a rule that it does not declare, if a declared one has no
counterexample that still shows it, if a condition never struck, or if the table differs; with 2 if it
was called in another way.";

#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    pub(crate) seeds: u64,
    pub(crate) keeps: bool,
    pub(crate) checks: bool,
    only: Option<String>,
}

impl Arguments {
    /// `None` if the words ask for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self {
            seeds: 500,
            keeps: false,
            checks: false,
            only: None,
        };
        while let Some(option) = words.next() {
            match option.as_str() {
                "--help" => return Ok(None),
                "--keep" => arguments.keeps = true,
                "--check" => arguments.checks = true,
                "--only" => arguments.only = Some(words.next().ok_or("--only wants a text")?),
                "--seeds" => {
                    let number = words.next().ok_or("--seeds wants a number")?;
                    let wrong = |_| format!("--seeds {number}: not a number");
                    arguments.seeds = number.parse().map_err(wrong)?;
                }
                _ => return Err(format!("{option} is not understood, see --help")),
            }
        }
        Ok(Some(arguments))
    }

    /// Whether to play the strategy of this name.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }

    /// Whether all strategies are played, so that there is a whole table.
    pub(crate) fn writes(&self) -> bool {
        self.only.is_none()
    }
}
