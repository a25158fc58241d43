//! The command line with its help: each command has examples, and says what its exit status means.

use clap::{Command, CommandFactory};

use crate::arguments::Arguments;

/// Help of one command.
struct Help {
    /// Its name, behind the name of the command that it is part of.
    path: &'static str,
    examples: &'static [&'static str],
    /// The meaning of its status 1.
    one: &'static str,
}

const fn help(path: &'static str, examples: &'static [&'static str], one: &'static str) -> Help {
    Help {
        path,
        examples,
        one,
    }
}

/// No status 1.
const NEVER: &str = "";
const NOT_ALL: &str = "if it was not done for all of them, or without --yes";

const HELP: &[Help] = &[
    help(
        "ls",
        &["qk ls", "qk --url rediss://queues:6380 ls --json"],
        "if there are no queues and the server has a problem",
    ),
    help(
        "why",
        &[
            "qk why",
            "qk why orders",
            "qk why --standstill",
            "qk why orders --expect max_attempts=7",
            "qk why --database postgres://ops@db/shop",
        ],
        "for findings, with --standstill for those that stop a queue",
    ),
    help(
        "watch",
        &["qk watch orders", "qk watch --standstill --every-ms 1000"],
        "if there are findings in the end",
    ),
    help("stats", &["qk stats orders"], NEVER),
    help("consumers", &["qk consumers orders"], "if there are none"),
    help("groups", &["qk groups orders -n 100"], NEVER),
    help(
        "workers",
        &["qk workers"],
        "if there are none, or one is gone",
    ),
    help(
        "peek",
        &[
            "qk peek orders ready",
            "qk peek orders delayed -n 5 --no-bodies",
        ],
        NEVER,
    ),
    help("show", &["qk show orders 7"], NEVER),
    help(
        "push",
        &[
            "qk push orders '{\"id\":7}'",
            "qk push orders hello --job greet --delay-ms 60000",
            "jq -c '.[]' orders.json | qk push orders -",
            "qk push orders - --whole < order.xml",
        ],
        "if the queue is full",
    ),
    help(
        "cancel",
        &["qk cancel orders 7 8", "qk cancel orders 7 --family"],
        "if one of them could not be cancelled",
    ),
    help(
        "run",
        &[
            "qk run orders 7",
            "qk run orders --all-delayed --reason timeout --yes",
        ],
        NOT_ALL,
    ),
    help(
        "release",
        &[
            "qk release orders 7",
            "qk release orders --holder 'web-1, process 7' --yes",
        ],
        NOT_ALL,
    ),
    help("ack", &["qk ack orders 7 --yes"], NOT_ALL),
    help(
        "retry",
        &["qk retry orders 7 --reason 'stuck in the bank' --yes"],
        NOT_ALL,
    ),
    help(
        "bury",
        &["qk bury orders 7 --reason 'no such article' --yes"],
        NOT_ALL,
    ),
    help("dead ls", &["qk dead ls orders -n 100"], NEVER),
    help("dead groups", &["qk dead groups orders"], NEVER),
    help(
        "dead revive",
        &[
            "qk dead revive orders 7",
            "qk dead revive orders --group 10d7c10249 --per-second 10 --yes",
        ],
        NOT_ALL,
    ),
    help(
        "dead discard",
        &["qk dead discard orders --reason 'no such article' --yes"],
        NOT_ALL,
    ),
    help(
        "pause",
        &[
            "qk pause orders",
            "qk pause orders --group customer-7 --for-ms 600000",
        ],
        NEVER,
    ),
    help(
        "resume",
        &["qk resume orders", "qk resume orders --group customer-7"],
        NEVER,
    ),
    help(
        "rule",
        &[
            "qk rule orders customer-7 --at-once 2 --for-ms 3600000",
            "qk rule orders customer-7 --rate 10/1000 --for-ms 3600000",
            "qk rule orders customer-7 --end",
        ],
        NEVER,
    ),
    help("purge", &["qk purge orders --yes"], "without --yes"),
    help("export", &["qk export orders > orders.jsonl"], NEVER),
    help(
        "import",
        &["qk import orders orders.jsonl --dead"],
        "if some were not pushed",
    ),
    help(
        "move",
        &["qk move orders mails --yes"],
        "without --yes, or if some were left",
    ),
    help(
        "reconfigure",
        &[
            "qk reconfigure orders max_attempts=7 rate=100/60000",
            "qk reconfigure orders at_once=none",
        ],
        "if nothing changed",
    ),
    help(
        "remove",
        &["qk remove orders --yes"],
        "without --yes, or if there is no such queue",
    ),
    help(
        "schedules ls",
        &["qk schedules ls"],
        "if one of them does not run",
    ),
    help(
        "schedules enable",
        &["qk schedules enable nightly"],
        "if there is no such schedule",
    ),
    help(
        "schedules disable",
        &["qk schedules disable nightly"],
        "if there is no such schedule",
    ),
    help(
        "schedules remove",
        &["qk schedules remove nightly"],
        "if there is no such schedule",
    ),
    help(
        "schedules run",
        &["qk schedules run nightly"],
        "if there is no such schedule",
    ),
    help(
        "outbox ls",
        &["qk outbox ls --database postgres://ops@db/shop"],
        "if rows are refused",
    ),
    help(
        "outbox refused",
        &["qk outbox refused --database sqlite:/var/lib/shop.db"],
        "if there are some",
    ),
    help(
        "outbox retry",
        &[
            "qk outbox retry --database postgres://ops@db/shop 7 8",
            "qk outbox retry --database postgres://ops@db/shop --all --yes",
        ],
        NOT_ALL,
    ),
    help("check", &["qk check"], "for problems"),
    help(
        "repair",
        &["qk --url file:/var/lib/shop/queues repair --yes"],
        "if the folder is damaged, without --yes",
    ),
    help("top", &["qk top", "qk top --every-ms 5000"], NEVER),
    help(
        "web",
        &[
            "qk web",
            "qk web --token-file /run/secrets/qk --public-url https://ops.example.com/queues",
        ],
        NEVER,
    ),
    help(
        "completions",
        &["qk completions bash > /etc/bash_completion.d/qk"],
        NEVER,
    ),
    help("man", &["qk man > qk.1"], NEVER),
    help(
        "acl",
        &[
            "qk acl --prefix shop",
            "qk acl --read-only",
            "qk acl --optional",
        ],
        NEVER,
    ),
];

impl Help {
    fn text(&self) -> String {
        let examples = self.examples.iter().map(|example| format!("  {example}\n"));
        let one = match self.one {
            "" => String::new(),
            one => format!("; 1 {one}"),
        };
        format!(
            "Examples:\n{}\nStatus: 0{one}; 2 for an error.",
            examples.collect::<String>()
        )
    }

    /// Adds this to the command at its path.
    fn add(&self, command: Command, path: &str) -> Command {
        let (name, rest) = path.split_once(' ').unwrap_or((path, ""));
        command.mut_subcommand(name, |part| match rest {
            "" => part.after_help(self.text()),
            _ => self.add(part, rest),
        })
    }
}

/// The command line.
pub(crate) fn command_line() -> Command {
    let line = Arguments::command();
    HELP.iter()
        .fold(line, |line, help| help.add(line, help.path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The paths of the commands that do something, and the commands.
    fn commands(command: &Command, path: &str) -> Vec<(String, Command)> {
        let parts = command
            .get_subcommands()
            .filter(|part| part.get_name() != "help");
        let parts = parts.flat_map(|part| {
            let name = format!("{path} {}", part.get_name());
            match part.has_subcommands() {
                true => commands(part, &name),
                false => vec![(name.trim_start().to_owned(), part.clone())],
            }
        });
        parts.collect()
    }

    #[test]
    fn each_command_has_examples_that_it_takes() {
        let line = command_line();
        let names: BTreeSet<String> = commands(&line, "")
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let helped: BTreeSet<String> = HELP.iter().map(|help| help.path.to_owned()).collect();
        assert_eq!(names, helped);
        for help in HELP {
            assert!(!help.examples.is_empty(), "{}", help.path);
            for example in help.examples {
                assert!(example.contains(help.path), "{example}");
                let begin = example.find("qk ").expect("a call of qk");
                let words = words(&example[begin..]);
                let read = line.clone().try_get_matches_from(&words);
                assert!(read.is_ok(), "{example}: {}", read.unwrap_err());
            }
        }
    }

    /// The words of a call, up to a redirection.
    fn words(call: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for character in call.chars() {
            match character {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                '<' | '>' if !quoted => break,
                other => words.last_mut().expect("one").push(other),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn the_help_explains_each_argument_and_is_wrapped() {
        let mut line = command_line();
        line.build();
        for (name, mut command) in commands(&line, "") {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{name}: {} is blank",
                    argument.get_id()
                );
            }
            let text = command.render_help().to_string();
            for line in text.lines() {
                // An address cannot be wrapped.
                assert!(line.chars().count() <= 100, "{name}: {line}");
            }
            let (examples, status) = (text.find("Examples:"), text.find("Status: 0"));
            assert!(examples.is_some() && examples < status, "{text}");
            // The options of all commands come last, in one order.
            let place = |option: &str| text.find(option).expect("it is there");
            let places = ["--url", "--json", "--recipe", "--help"].map(place);
            assert!(places.is_sorted(), "{text}");
        }
    }
}
