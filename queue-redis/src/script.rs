//! A Lua script: its name, its text, and the hash the server knows it by.

use std::{fmt, sync::OnceLock};

use redis::Cmd;

/// A script, made once as a `static`.
pub(crate) struct Script {
    name: &'static str,
    source: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    pub(crate) const fn new(name: &'static str, source: &'static str) -> Self {
        Self {
            name,
            source,
            hash: OnceLock::new(),
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Its text.
    pub(crate) const fn source(&self) -> &'static str {
        self.source
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

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.name).finish()
    }
}
