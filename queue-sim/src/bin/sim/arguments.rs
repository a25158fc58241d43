//! The command line.

use std::{num::NonZeroUsize, thread};

use clap::{
    CommandFactory, Error, Parser,
    builder::{PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
    value_parser,
};
use queue_core::QueueKind;
use queue_sim::{plan::Plan, run::Scenario, workload::Mode};

/// Plays runs of a queue under faults, in virtual time, and checks each against the contract
#[derive(Debug, Parser)]
#[command(after_help = "\
It ends with one line for each kind. The status is 0 if every rule held, 1 if one was broken or more
than one run of a hundred was inconclusive, 2 if an argument is wrong, and 3 if a plan no longer fits
the code.")]
pub(crate) struct Arguments {
    /// The kind of queue, or all kinds
    #[arg(long, value_parser = kinds())]
    kind: Kinds,
    /// For file, the power of the simulated disk fails in mid-run. For redis, a server is started; redis-restarts also
    /// kills it in mid-run, which makes runs slower
    #[arg(long, default_value = "memory", value_parser = one_of(&Place::ALL, Place::as_str))]
    pub(crate) backend: Place,
    /// The number of runs
    #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    pub(crate) first_seed: u64,
    /// Plays this one plan (v1:...) and shows what happens
    #[arg(long, value_name = "PLAN")]
    pub(crate) replay: Option<Plan>,
    /// The faults of every run; drawn for each run if left out
    #[arg(long, value_parser = one_of(Mode::ALL, Mode::as_str))]
    mode: Option<Mode>,
    // The drain has the process after the last one.
    /// The number of processes that act at once
    #[arg(long, default_value_t = usual().processes, value_parser = value_parser!(u8).range(1..=50))]
    processes: u8,
    /// The number of steps of each process
    #[arg(long, default_value_t = usual().steps, value_parser = value_parser!(u32).range(1..))]
    steps: u32,
    /// The number of runs at once, each in an environment of its own; one for each core if left out
    #[arg(long, value_parser = value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Plays each run twice: both must have the same history
    #[arg(long)]
    pub(crate) twice: bool,
    /// Prints a number, in a line of its own, that stands for all histories
    #[arg(long)]
    pub(crate) digest: bool,
    /// Adds a failing plan to queue-sim/sim-regressions, whose plans are played first
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Clone)]
struct Kinds(Vec<QueueKind>);

/// The backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    File,
    Redis,
    RedisRestarts,
}

impl Place {
    const ALL: [Self; 4] = [Self::Memory, Self::File, Self::Redis, Self::RedisRestarts];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
            Self::Redis => "redis",
            Self::RedisRestarts => "redis-restarts",
        }
    }
}

impl Arguments {
    /// Reads the command line, or ends the program.
    pub(crate) fn read() -> Self {
        Self::parse().checked().unwrap_or_else(|wrong| wrong.exit())
    }

    fn checked(self) -> Result<Self, Error> {
        let wrong = |what| Err(Self::command().error(ErrorKind::ArgumentConflict, what));
        if self.replay.is_some() && self.kinds().len() > 1 {
            return wrong("a plan is of one kind: name it by --kind");
        }
        if self.first_seed.checked_add(self.seeds).is_none() {
            return wrong("there are not so many seeds after the first one");
        }
        Ok(self)
    }

    pub(crate) fn kinds(&self) -> &[QueueKind] {
        &self.kind.0
    }

    /// The number of threads: no more than there is work for.
    pub(crate) fn threads(&self) -> u64 {
        let cores = || thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
        let threads = self.threads.map_or_else(cores, u64::from);
        if self.replay.is_some() {
            1
        } else {
            threads.min(self.seeds)
        }
    }

    pub(crate) fn scenario(&self, kind: QueueKind) -> Scenario {
        Scenario {
            mode: self.mode,
            processes: self.processes,
            steps: self.steps,
            ..Scenario::new(kind)
        }
    }
}

/// A scenario of any kind.
fn usual() -> Scenario {
    Scenario::new(QueueKind::Reliable)
}

fn kinds() -> impl TypedValueParser<Value = Kinds> {
    let names = QueueKind::ALL.map(QueueKind::as_str);
    PossibleValuesParser::new(names.into_iter().chain(["all"])).map(|name| {
        let is_meant = |kind: &QueueKind| name == "all" || name == kind.as_str();
        Kinds(QueueKind::ALL.into_iter().filter(is_meant).collect())
    })
}

fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|one| name(*one))).try_map(move |text| {
        let found = all.iter().find(|one| name(**one) == text);
        found.copied().ok_or("an unknown name")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, Error> {
        let words = ["sim"].into_iter().chain(line.split_whitespace());
        Arguments::try_parse_from(words).and_then(Arguments::checked)
    }

    #[test]
    fn options_become_scenarios_and_threads() {
        let read =
            parse("--kind delay --backend=redis-restarts --mode waiting --processes 2").unwrap();
        assert_eq!(read.kinds(), [QueueKind::Delay]);
        assert_eq!(read.backend, Place::RedisRestarts);
        let scenario = read.scenario(QueueKind::Delay);
        assert_eq!(
            (scenario.mode, scenario.processes),
            (Some(Mode::Waiting), 2)
        );
        let all = parse("--kind all --threads 3").unwrap();
        assert_eq!((all.kinds(), all.threads()), (&QueueKind::ALL[..], 3));
        assert_eq!(
            all.scenario(QueueKind::Delay),
            Scenario::new(QueueKind::Delay)
        );
        assert_eq!(
            parse("--kind all --threads 3 --seeds 2").unwrap().threads(),
            2
        );
        let replay = parse("--kind bounded --replay v1:1.0.verb=3").unwrap();
        assert_eq!((replay.threads(), replay.replay.unwrap().len()), (1, 1));
    }

    #[test]
    fn contradictions_are_refused() {
        for (line, expected) in [
            ("--kind all --processes 51", "51"),
            ("--kind all --seeds 0", "0"),
            ("--kind all --replay v1:", "a plan is of one kind"),
            ("--kind delay --replay v9:", "a plan begins with `v1:`"),
            (
                "--kind all --first-seed 18446744073709551615",
                "not so many seeds",
            ),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
