//! What the program is asked to do.

use std::path::{Path, PathBuf};

use queue_benches::report::{
    effort::Effort,
    scenario::Scenario,
    scenarios::{self, ALL},
};

/// What the program is asked to do, and where its files are.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) task: Task,
    pub(crate) folder: PathBuf,
}

#[derive(Debug)]
pub(crate) enum Task {
    /// Measures these scenarios.
    Measure {
        effort: Effort,
        only: Vec<&'static Scenario>,
    },
    /// Writes the part of benches/README.md from the last report.
    Readme,
}

/// What `--help` prints.
pub(crate) fn help() -> String {
    let scenarios = ALL.iter().map(|scenario| {
        let (name, about) = (scenario.name, scenario.about);
        format!("    {name:<10}  {about}\n")
    });
    format!(
        "\
Measures queues on Redis servers of its own, each figure beside raw commands in the same run.

    report [--quick] [--only NAME]... [--out FOLDER]
    report --readme [--out FOLDER]

    --quick        every scenario with so few jobs that the figures say nothing: for tests
    --only NAME    this scenario alone; more than once for several
    --out FOLDER   where the report's files are          [target/report of this repository]
    --readme       measures nothing; writes the part of benches/README.md, and its plot, from the
                   report that is in the folder
    --help         this text

Prints a table, and writes it to the folder: as report.txt, as report.tsv and as plots. A full run takes
about a quarter of an hour. Other work on the machine makes its figures worthless. It needs
redis-server, and taskset, by which client and server share a core (same) or have one each (split).

Scenarios:

{}
Ends with 2 if it was called in another way, with 1 if something else is wrong.",
        scenarios.collect::<String>()
    )
}

impl Arguments {
    /// `None` if the words ask for help.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut words = words;
        let (mut quick, mut readme, mut only, mut folder) = (false, false, Vec::new(), None);
        while let Some(word) = words.next() {
            let mut value = |what: &str| {
                let value = words.next().filter(|value| !value.starts_with("--"));
                value.ok_or_else(|| format!("{word} needs {what} after it"))
            };
            match word.as_str() {
                "--help" => return Ok(None),
                "--quick" => quick = true,
                "--readme" => readme = true,
                "--only" => {
                    let scenario = scenarios::named(&value("the name of a scenario")?)?;
                    let is_new = |known: &&Scenario| known.name != scenario.name;
                    if only.iter().all(is_new) {
                        only.push(scenario);
                    }
                }
                "--out" => folder = Some(PathBuf::from(value("a folder")?)),
                _ if word.starts_with('-') => return Err(format!("unknown option {word}")),
                _ => return Err(format!("one argument too many: {word:?}")),
            }
        }
        if readme && (quick || !only.is_empty()) {
            return Err(
                "--readme measures nothing, so --quick and --only mean nothing beside it: measure \
                 first, and then write the page"
                    .to_owned(),
            );
        }
        let task = match (readme, only.is_empty()) {
            (true, _) => Task::Readme,
            (false, is_all) => Task::Measure {
                effort: if quick { Effort::Quick } else { Effort::Full },
                only: if is_all { ALL.iter().collect() } else { only },
            },
        };
        Ok(Some(Self {
            task,
            folder: folder.unwrap_or_else(usual_folder),
        }))
    }
}

fn usual_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/report")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Option<Arguments>, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    fn measured(line: &str) -> (Effort, Vec<&'static str>) {
        let arguments = parse(line).unwrap().unwrap();
        let Task::Measure { effort, only } = arguments.task else {
            panic!("{line}");
        };
        (effort, only.iter().map(|scenario| scenario.name).collect())
    }

    #[test]
    fn what_is_said_is_read() {
        assert_eq!(measured("").0, Effort::Full);
        assert_eq!(measured("").1.len(), ALL.len());
        let (effort, only) = measured("--only idle --quick --only worker --only idle");
        assert_eq!(
            (effort, &only[..]),
            (Effort::Quick, &["idle", "worker"][..])
        );
        let readme = parse("--readme --out here").unwrap().unwrap();
        assert!(matches!(readme.task, Task::Readme));
        assert_eq!(readme.folder, Path::new("here"));
        let usual = parse("--quick").unwrap().unwrap().folder;
        assert!(usual.ends_with("target/report"));
        assert!(parse("--quick --help").unwrap().is_none());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, expected) in [
            ("--only", "--only needs the name of a scenario after it"),
            ("--only --quick", "--only needs the name"),
            (
                "--only nothing",
                "there is no scenario \"nothing\": there are worker, load",
            ),
            ("--out", "--out needs a folder after it"),
            ("--fast", "unknown option --fast"),
            ("worker", "one argument too many: \"worker\""),
            ("--readme --quick", "--readme measures nothing"),
            ("--only idle --readme", "--readme measures nothing"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn the_help_has_every_scenario() {
        let help = help();
        for scenario in ALL {
            assert!(help.contains(&format!("\n    {} ", scenario.name)));
        }
    }
}
