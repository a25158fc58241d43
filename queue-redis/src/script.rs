//! A Lua script: its name, its text, and the hash the server knows it by.

use std::{fmt, sync::OnceLock};

use redis::Cmd;

/// A script, made once as a `static`.
pub(crate) struct Script {
    name: &'static str,
    source: &'static str,
    hash: OnceLock<String>,
    commands: OnceLock<Vec<&'static str>>,
}

impl Script {
    pub(crate) const fn new(name: &'static str, source: &'static str) -> Self {
        Self {
            name,
            source,
            hash: OnceLock::new(),
            commands: OnceLock::new(),
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Its text.
    pub(crate) const fn source(&self) -> &'static str {
        self.source
    }

    /// The commands that it calls; not those that it tries by `pcall`, which it can do without.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &'static str> {
        // Read once: each connection asks for them.
        let commands = || self.source.lines().flat_map(commands_in).collect();
        self.commands.get_or_init(commands).iter().copied()
    }

    /// The command that it calls in this line, or in the one before that calls one.
    pub(crate) fn command_at(&self, line: usize) -> Option<&'static str> {
        let lines: Vec<&str> = self.source.lines().take(line).collect();
        let last = |line: &&'static str| commands_in(line).last();
        lines.iter().rev().find_map(last)
    }

    /// What gives the server the script.
    pub(crate) fn load_command(&self) -> Cmd {
        let mut command = redis::cmd("SCRIPT");
        command.arg("LOAD").arg(self.source);
        command
    }

    /// The SHA-1 of the text in hexadecimal, computed at the first use.
    pub(crate) fn hash(&self) -> &str {
        self.hash
            .get_or_init(|| redis::Script::new(self.source).get_hash().to_owned())
    }
}

fn commands_in(line: &'static str) -> impl Iterator<Item = &'static str> {
    const CALL: &str = "call('";
    let calls = line.match_indices(CALL);
    let calls = calls.filter(|(at, _)| !line[..*at].ends_with('p'));
    calls.filter_map(|(at, _)| line[at + CALL.len()..].split('\'').next())
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SCRIPT: Script = Script::new(
        "test",
        "call('HGET', KEYS[1], call('TYPE', 'x'))\nlocal a\nredis.pcall('PUBLISH', 'c', '')\n",
    );

    #[test]
    fn its_commands_are_read_from_its_text() {
        assert_eq!(SCRIPT.commands().collect::<Vec<_>>(), ["HGET", "TYPE"]);
        assert_eq!(SCRIPT.command_at(1), Some("TYPE"));
        assert_eq!(SCRIPT.command_at(3), Some("TYPE"));
        assert_eq!(SCRIPT.command_at(0), None);
    }
}
