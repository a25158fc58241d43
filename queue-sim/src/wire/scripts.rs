//! The scripts of queue-redis and their replacements, and those of them that the server has.

use std::{collections::HashMap, io};

use super::{resp::accepted, socket::Socket};

/// Replaces scripts: it gets a script's name, such as `reliable/turn`, and its text, and answers
/// the text that runs in its place.
pub(super) type Replace = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

pub(super) struct Scripts {
    table: Vec<Script>,
    /// By hash and by text. Nothing iterates over it, since its order is random.
    find: HashMap<String, usize>,
}

/// No text has this hash.
const OF_NO_SCRIPT: &str = "0000000000000000000000000000000000000000";

struct Script {
    name: &'static str,
    hash: String,
    /// The text that runs: the script's own, or its replacement.
    text: String,
    text_hash: String,
    /// Whether the server has it.
    loaded: bool,
    /// Whether clients find it there.
    found: bool,
}

impl Scripts {
    /// Gives the server all scripts.
    pub(super) fn load(socket: &mut Socket, replace: Option<&Replace>) -> io::Result<Self> {
        let mut scripts = Self {
            table: Vec::new(),
            find: HashMap::new(),
        };
        for (name, original) in queue_redis::scripts() {
            let replaced = replace.and_then(|replace| replace(name, original));
            let text = replaced.unwrap_or_else(|| original.to_owned());
            let hash = |text: &str| redis::Script::new(text).get_hash().to_owned();
            let script = Script {
                name,
                hash: hash(original),
                text_hash: hash(&text),
                text,
                loaded: true,
                found: true,
            };
            accepted(&socket.ask(&["SCRIPT", "LOAD", &script.text])?)?;
            let at = scripts.table.len();
            scripts.find.insert(script.hash.clone(), at);
            scripts.find.insert(original.to_owned(), at);
            scripts.table.push(script);
        }
        Ok(scripts)
    }

    /// The position of the script that an `EVALSHA` or `EVAL` of this word calls.
    pub(super) fn find(&self, word: &[u8]) -> Option<usize> {
        self.find.get(std::str::from_utf8(word).ok()?).copied()
    }

    pub(super) fn name(&self, at: usize) -> &'static str {
        self.table[at].name
    }

    /// The hash that the wire calls on the server when a client calls the script by its hash. It is
    /// the hash of the text that runs; or one of no script, if the client must not find it.
    pub(super) fn called(&self, at: usize) -> &str {
        let script = &self.table[at];
        if script.found {
            &script.text_hash
        } else {
            OF_NO_SCRIPT
        }
    }

    /// The text that runs.
    pub(super) fn text(&self, at: usize) -> &str {
        &self.table[at].text
    }

    /// The hash by which clients know it.
    pub(super) fn hash(&self, at: usize) -> &str {
        &self.table[at].hash
    }

    /// Whether clients find it there.
    pub(super) fn is_there(&self, at: usize) -> bool {
        self.table[at].found
    }

    /// Notes that a client has run the whole text, so that the server has it now.
    pub(super) fn came(&mut self, at: usize) {
        let script = &mut self.table[at];
        (script.loaded, script.found) = (true, true);
    }

    /// Notes that a client loads it, and finds it from now on.
    pub(super) fn load_again(&mut self, at: usize) {
        self.table[at].found = true;
    }

    /// From now on clients find no script.
    pub(super) fn flush(&mut self) {
        for script in &mut self.table {
            script.found = false;
        }
    }

    /// From now on the server has no script.
    pub(super) fn lost(&mut self) {
        for script in &mut self.table {
            (script.loaded, script.found) = (false, false);
        }
    }

    /// Begins a new run: clients find all scripts.
    pub(super) fn renew(&mut self) {
        for script in &mut self.table {
            script.found = true;
        }
    }

    /// The text that the server needs before a call of the script: `None` if the server has it, or
    /// clients are not to find it.
    pub(super) fn settle(&mut self, at: usize) -> Option<&str> {
        let script = &mut self.table[at];
        if script.loaded || !script.found {
            return None;
        }
        script.loaded = true;
        Some(&script.text)
    }
}
