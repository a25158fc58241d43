//! A Lua script as a request calls it: its name, its text, and the hash by which a server knows it.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{PoisonError, RwLock},
};

use redis::Cmd;

/// The scripts of this process. A server's error names the script that met it by its hash.
static SCRIPTS: RwLock<Vec<&'static Script>> = RwLock::new(Vec::new());

/// A script. It lives as long as the process.
pub struct Script {
    name: String,
    source: String,
    hash: String,
    /// The commands, each once: a connection checks all of them when it opens.
    commands: BTreeSet<String>,
}

impl Script {
    /// Creates a script of this name and text. Call this once for each script: a script is never dropped.
    pub fn new(name: String, source: String) -> &'static Self {
        let script = Box::leak(Box::new(Self {
            hash: redis::Script::new(&source).get_hash().to_owned(),
            commands: commands_in(&source).map(str::to_owned).collect(),
            name,
            source,
        }));
        let mut scripts = SCRIPTS.write().unwrap_or_else(PoisonError::into_inner);
        scripts.push(script);
        script
    }

    /// The script of this process that has this hash.
    pub(crate) fn find(hash: &str) -> Option<&'static Self> {
        let scripts = SCRIPTS.read().unwrap_or_else(PoisonError::into_inner);
        scripts.iter().copied().find(|script| script.hash == hash)
    }

    /// The script's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The script's text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The SHA-1 of the text in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The commands that the script calls, each once, without commands that it tries by `pcall` and does not need.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(String::as_str)
    }

    /// The command that the script calls in this line, or in the last line before it that calls one.
    pub(crate) fn command_at(&self, line: usize) -> Option<&str> {
        let lines: Vec<&str> = self.source.lines().take(line).collect();
        lines.iter().rev().find_map(|line| commands_in(line).last())
    }

    /// The command that loads the script on the server.
    pub(crate) fn load_command(&self) -> Cmd {
        let mut command = redis::cmd("SCRIPT");
        command.arg("LOAD").arg(&self.source);
        command
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
        f.debug_tuple("Script").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_commands_are_read_from_its_text() {
        let source = "call('HGET', KEYS[1], call('TYPE', 'x'))\n\
                      local a\nredis.pcall('PUBLISH', 'c', '')\n";
        let script = Script::new("test".to_owned(), source.to_owned());
        assert_eq!(script.commands().collect::<Vec<_>>(), ["HGET", "TYPE"]);
        assert_eq!(script.command_at(1), Some("TYPE"));
        assert_eq!(script.command_at(3), Some("TYPE"));
        assert_eq!(script.command_at(0), None);
        assert!(Script::find(script.hash()).is_some());
    }
}
