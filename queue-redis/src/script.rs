//! A Lua script: its name, its text, and the hash by which the server knows it.

use std::{collections::BTreeSet, fmt, sync::OnceLock};

use redis::Cmd;

/// Texts of files of `lua/`.
pub(crate) type Files = &'static [&'static str];

const BEGINS: Files = &[include_str!("../lua/shared/long_way.lua")];
const ENDS: Files = &[include_str!("../lua/shared/long_way_ends.lua")];

/// The parts that only the scripts of one kind of queue have.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) keys: Files,
    /// They read what is stored of the kind alone, once the stored configuration is known.
    pub(crate) settings: Files,
    /// They find the next message for a single turn.
    pub(crate) next: Files,
    /// They read and take the kind's ready messages.
    pub(crate) line: Files,
    /// They make messages ready.
    pub(crate) moves: Files,
    /// They count ready messages.
    pub(crate) counts: Files,
    /// They find one undelivered message, and show the ready ones.
    pub(crate) lookup: Files,
}

impl Kind {
    /// For scripts of no kind.
    pub(crate) const NONE: Self = Self {
        name: "",
        keys: &[],
        settings: &[],
        next: &[],
        line: &[],
        moves: &[],
        counts: &[],
        lookup: &[],
    };
}

/// A part of a script: files, or those of its kind.
pub(crate) enum Part {
    Files(Files),
    Keys,
    Settings,
    Next,
    Line,
    Moves,
    Counts,
    Lookup,
    /// What follows is a function of its own, see `lua/shared/long_way.lua`.
    LongWay,
}

/// A script: a `static`, put together at its first use.
pub(crate) struct Script {
    kind: &'static Kind,
    verb: &'static str,
    parts: &'static [Part],
    text: OnceLock<Text>,
}

struct Text {
    name: String,
    source: String,
    hash: String,
    /// Each once: a connection asks about all of them when it opens.
    commands: BTreeSet<String>,
}

impl Script {
    pub(crate) const fn new(
        kind: &'static Kind,
        verb: &'static str,
        parts: &'static [Part],
    ) -> Self {
        Self {
            kind,
            verb,
            parts,
            text: OnceLock::new(),
        }
    }

    /// Its kind and verb; the verb alone if it has no kind.
    pub(crate) fn name(&self) -> &str {
        &self.text().name
    }

    pub(crate) fn source(&self) -> &str {
        &self.text().source
    }

    /// The SHA-1 of the text in hexadecimal.
    pub(crate) fn hash(&self) -> &str {
        &self.text().hash
    }

    /// The commands that it calls, each once, without those that it tries by `pcall` and can do without.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &str> {
        self.text().commands.iter().map(String::as_str)
    }

    /// The command that it calls in this line, or in the last line before that calls one.
    pub(crate) fn command_at(&self, line: usize) -> Option<&str> {
        let lines: Vec<&str> = self.source().lines().take(line).collect();
        lines.iter().rev().find_map(|line| commands_in(line).last())
    }

    /// The command that gives the server the script.
    pub(crate) fn load_command(&self) -> Cmd {
        let mut command = redis::cmd("SCRIPT");
        command.arg("LOAD").arg(self.source());
        command
    }

    /// Its files, from first to last.
    pub(crate) fn files(&self) -> impl Iterator<Item = &'static str> {
        let files = self.parts.iter().flat_map(|part| match part {
            Part::Files(files) => files,
            Part::Keys => self.kind.keys,
            Part::Settings => self.kind.settings,
            Part::Next => self.kind.next,
            Part::Line => self.kind.line,
            Part::Moves => self.kind.moves,
            Part::Counts => self.kind.counts,
            Part::Lookup => self.kind.lookup,
            Part::LongWay => BEGINS,
        });
        let long = self.parts.iter().any(|part| matches!(part, Part::LongWay));
        let end = if long { ENDS } else { &[] };
        files.chain(end).copied()
    }

    fn text(&self) -> &Text {
        self.text.get_or_init(|| {
            let name = format!("{}/{}", self.kind.name, self.verb);
            let source: String = self.files().collect();
            Text {
                name: name.trim_start_matches('/').to_owned(),
                hash: redis::Script::new(&source).get_hash().to_owned(),
                commands: commands_in(&source).map(str::to_owned).collect(),
                source,
            }
        })
    }
}

fn commands_in(text: &str) -> impl Iterator<Item = &str> {
    const CALL: &str = "call('";
    let calls = text.match_indices(CALL);
    let calls = calls.filter(|(at, _)| !text[..*at].ends_with('p'));
    calls.filter_map(|(at, _)| text[at + CALL.len()..].split('\'').next())
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SCRIPT: Script = Script::new(
        &Kind::NONE,
        "test",
        &[Part::Files(&[
            "call('HGET', KEYS[1], call('TYPE', 'x'))\n",
            "local a\nredis.pcall('PUBLISH', 'c', '')\n",
        ])],
    );

    #[test]
    fn its_commands_are_read_from_its_text() {
        assert_eq!(SCRIPT.commands().collect::<Vec<_>>(), ["HGET", "TYPE"]);
        assert_eq!(SCRIPT.command_at(1), Some("TYPE"));
        assert_eq!(SCRIPT.command_at(3), Some("TYPE"));
        assert_eq!(SCRIPT.command_at(0), None);
    }
}
