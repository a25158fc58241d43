//! The command line.

use std::{num::NonZeroUsize, str::FromStr, thread};

use queue_core::QueueKind;
use queue_sim::{plan::Plan, run::Scenario, workload::Mode};

const HELP: &str = "\
Plays runs of a queue under faults, in virtual time, and checks each against the contract.

usage: sim --kind KIND [--backend BACKEND] [--seeds N] [--first-seed S] [options]
       sim --kind KIND [--backend BACKEND] --replay PLAN [options]

--kind KIND         KINDS, or all
--backend BACKEND   memory (if left out), or redis: a server of its own is started (feature redis);
                    or redis-restarts: it is killed in mid-run too, which makes runs slower
--seeds N           how many runs; 1000 if left out
--first-seed S      the first seed; 0 if left out
--replay PLAN       plays this one plan (v1:...) and shows what happens
--mode MODE         faults or waiting, in every run; drawn for each run if left out
--lanes N           how many lanes act at once; 3 if left out
--steps N           how many steps each lane makes; 12 if left out
--threads N         how many play at once, each in an environment of its own; one for each core if left out
--twice             plays each run twice: both must have the same history
--digest            says a number, in a line of its own, that stands for all histories
--keep              adds a failing plan to queue-sim/sim-regressions, whose plans are played first

It ends with one line for each kind. The status is 0 if every rule held, 1 if one was broken or more
than one run of a hundred was inconclusive, 2 if an argument is wrong, and 3 if a plan no longer fits
the code.";

/// What the program tells of its options.
pub(crate) fn help() -> String {
    HELP.replace("KINDS", &names(&QueueKind::ALL, QueueKind::as_str))
}

/// The program's task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) kinds: Vec<QueueKind>,
    pub(crate) backend: Place,
    pub(crate) seeds: u64,
    pub(crate) first_seed: u64,
    pub(crate) replay: Option<Plan>,
    /// What is said of a run of any kind; its own kind says nothing.
    template: Scenario,
    pub(crate) threads: Option<u16>,
    pub(crate) twice: bool,
    pub(crate) digest: bool,
    pub(crate) keep: bool,
}

/// The backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    Redis,
    RedisRestarts,
}

impl Place {
    const ALL: [Self; 3] = [Self::Memory, Self::Redis, Self::RedisRestarts];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Redis => "redis",
            Self::RedisRestarts => "redis-restarts",
        }
    }
}

impl Arguments {
    /// Reads the command line. `None` if it asks for help.
    pub(crate) fn parse(
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<Option<Self>, String> {
        let mut read = Self {
            kinds: Vec::new(),
            backend: Place::Memory,
            seeds: 1_000,
            first_seed: 0,
            replay: None,
            template: Scenario::new(QueueKind::Reliable),
            threads: None,
            twice: false,
            digest: false,
            keep: false,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (name, mut value) = match argument.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    (name.to_owned(), Some(value.to_owned()))
                }
                _ => (argument, None),
            };
            let flag = match name.as_str() {
                "--help" | "-h" => return Ok(None),
                "--twice" => Some(&mut read.twice),
                "--digest" => Some(&mut read.digest),
                "--keep" => Some(&mut read.keep),
                _ => None,
            };
            if let Some(flag) = flag {
                if let Some(value) = value {
                    return Err(format!("{name} takes no value, and not {value:?}"));
                }
                *flag = true;
                continue;
            }
            let mut value = || value.take().or_else(|| arguments.next());
            let mut needed = |what| value().ok_or(format!("{name} needs {what} after it"));
            match name.as_str() {
                "--kind" => read.kinds = kinds(&needed("a kind of queue")?)?,
                "--backend" => {
                    let name = needed("the name of one")?;
                    read.backend = one_of("backend", &Place::ALL, Place::as_str, &name)?;
                }
                "--seeds" => read.seeds = number(&name, &needed("a number")?, 1)?,
                "--first-seed" => read.first_seed = number(&name, &needed("a number")?, 0)?,
                "--replay" => read.replay = Some(plan(&needed("a plan")?)?),
                "--mode" => {
                    let name = needed("faults or waiting")?;
                    let mode = one_of("mode", Mode::ALL, Mode::as_str, &name)?;
                    read.template.mode = Some(mode);
                }
                "--lanes" => read.template.lanes = number(&name, &needed("a number")?, 1)?,
                "--steps" => read.template.steps = number(&name, &needed("a number")?, 1)?,
                "--threads" => read.threads = Some(number(&name, &needed("a number")?, 1)?),
                _ if name.starts_with('-') => return Err(format!("unknown option {name}")),
                _ => return Err(format!("{name:?} is one argument too many")),
            }
        }
        read.checked().map(Some)
    }

    fn checked(self) -> Result<Self, String> {
        if self.kinds.is_empty() {
            return Err("which kind of queue? --kind is missing".to_owned());
        }
        if self.replay.is_some() && self.kinds.len() > 1 {
            return Err("a plan is of one kind: say which by --kind".to_owned());
        }
        if self.first_seed.checked_add(self.seeds).is_none() {
            return Err("there are not so many seeds after the first one".to_owned());
        }
        // The drain has the lane after the last one.
        if self.template.lanes > 50 {
            return Err("--lanes: at most 50".to_owned());
        }
        Ok(self)
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
            kind,
            ..self.template.clone()
        }
    }
}

fn kinds(name: &str) -> Result<Vec<QueueKind>, String> {
    if name == "all" {
        return Ok(QueueKind::ALL.to_vec());
    }
    let kind = one_of("kind", &QueueKind::ALL, QueueKind::as_str, name);
    kind.map(|kind| vec![kind])
        .map_err(|wrong| wrong + " or all")
}

/// The one of this name.
fn one_of<T: Copy>(
    what: &str,
    all: &[T],
    as_str: fn(T) -> &'static str,
    name: &str,
) -> Result<T, String> {
    let found = all.iter().find(|one| as_str(**one) == name);
    found.copied().ok_or_else(|| {
        let names = names(all, as_str);
        format!("there is no {what} {name:?}: it is one of {names}")
    })
}

fn names<T: Copy>(all: &[T], as_str: fn(T) -> &'static str) -> String {
    let names: Vec<_> = all.iter().map(|one| as_str(*one)).collect();
    names.join(", ")
}

fn plan(text: &str) -> Result<Plan, String> {
    text.parse().map_err(|wrong| format!("--replay: {wrong}"))
}

fn number<N: FromStr + PartialOrd + From<u8>>(
    name: &str,
    text: &str,
    least: u8,
) -> Result<N, String> {
    let number = text.parse::<N>().ok();
    number
        .filter(|number| *number >= N::from(least))
        .ok_or_else(|| format!("{name} needs a whole number of at least {least}, and not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_said_is_read() {
        let read = parse("--kind delay --backend=redis --seeds 7 --first-seed 3 --mode waiting");
        let read = read.unwrap().unwrap();
        assert_eq!(read.kinds, [QueueKind::Delay]);
        assert_eq!(read.backend, Place::Redis);
        assert_eq!((read.seeds, read.first_seed), (7, 3));
        assert_eq!(read.scenario(QueueKind::Delay).mode, Some(Mode::Waiting));
        let all = parse("--kind all --twice --threads 3").unwrap().unwrap();
        assert_eq!((&all.kinds[..], all.threads()), (&QueueKind::ALL[..], 3));
        let few = parse("--kind all --threads 3 --seeds 2").unwrap().unwrap();
        assert_eq!(few.threads(), 2);
        assert!(all.twice && !all.digest);
        assert_eq!(parse("--kind all --help"), Ok(None));
        let replay = parse("--kind bounded --replay v1:1.0.verb=3").unwrap();
        assert_eq!(replay.unwrap().replay.unwrap().len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, expected) in [
            ("", "--kind is missing"),
            ("--kind", "--kind needs a kind of queue"),
            ("--kind fifo", "no kind \"fifo\""),
            ("--kind all --backend kafka", "no backend \"kafka\""),
            ("--kind all --seeds 0", "at least 1, and not \"0\""),
            ("--kind all --seeds 1.5", "not \"1.5\""),
            ("--kind all --lanes 300", "not \"300\""),
            ("--kind all --lanes 200", "at most 50"),
            ("--kind all --threads 0", "at least 1, and not \"0\""),
            ("--kind all --replay v1:", "a plan is of one kind"),
            (
                "--kind delay --replay v9:",
                "--replay: a plan begins with `v1:`",
            ),
            ("--kind all --fast", "unknown option --fast"),
            ("--kind all surplus", "one argument too many"),
            ("--kind all --twice=no", "takes no value"),
            ("--kind all --mode calm", "no mode \"calm\""),
            (
                "--kind all --first-seed 18446744073709551615",
                "not so many seeds",
            ),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
