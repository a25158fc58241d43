use std::ops::Range;

pub(crate) const HELP: &str = "\
Plays the default queues and all published strategies under the simulator's conditions, each on a
server of its own, and writes the table of what they keep and break into docs/strategies.md.

    guarantees [--seeds N] [--first-seed S] [--only TEXT] [--under TEXT] [--keep] [--check]

    --seeds N     runs of each strategy under each condition   [500]
    --first-seed S
                  the first seed; writes and compares no table   [0, whose runs the page shows]
    --only TEXT   only strategies whose names have this text; writes no table
    --under TEXT  only conditions whose names have this text (alone, delayed, …); writes no table
    --keep        keeps a counterexample of each declared rule that has none yet
    --check       writes nothing, and compares the table

Ends with 1 if a strategy breaks a rule that it does not declare, if a declared one has no
counterexample that still shows it, if a condition never struck, or if the table differs; with 2 if it
was called in another way.";

#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    seeds: u64,
    first_seed: u64,
    pub(crate) keeps: bool,
    pub(crate) checks: bool,
    only: Option<String>,
    under: Option<String>,
}

impl Arguments {
    /// `None` if the words ask for help.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self {
            seeds: 500,
            first_seed: 0,
            keeps: false,
            checks: false,
            only: None,
            under: None,
        };
        while let Some(option) = words.next() {
            match option.as_str() {
                "--help" => return Ok(None),
                "--keep" => arguments.keeps = true,
                "--check" => arguments.checks = true,
                "--only" => arguments.only = Some(words.next().ok_or("--only wants a text")?),
                "--under" => arguments.under = Some(words.next().ok_or("--under wants a text")?),
                "--seeds" => arguments.seeds = number("--seeds", words.next())?,
                "--first-seed" => arguments.first_seed = number("--first-seed", words.next())?,
                _ => return Err(format!("{option} is not understood, see --help")),
            }
        }
        match arguments.first_seed.checked_add(arguments.seeds) {
            Some(_) => Ok(Some(arguments)),
            None => Err("there are no so large seeds".to_owned()),
        }
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

fn number(option: &str, word: Option<String>) -> Result<u64, String> {
    let word = word.ok_or_else(|| format!("{option} wants a number"))?;
    word.parse()
        .map_err(|_| format!("{option} {word}: not a number"))
}
