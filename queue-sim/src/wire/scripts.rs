//! The scripts of queue-redis, those that stand in for them, and which of them the server has.

use std::{collections::HashMap, io};

use super::{resp::accepted, socket::Socket};

/// Replaces scripts by others: given a script's name, such as `reliable/turn`, and its text,
/// answers the text that runs in its place.
pub(super) type Replace = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

pub(super) struct Scripts {
    table: Vec<Script>,
    /// By its hash, and by its text. Never listed: its order is nobody's.
    find: HashMap<String, usize>,
}

/// No text has this hash.
const OF_NO_SCRIPT: &str = "0000000000000000000000000000000000000000";

struct Script {
    name: &'static str,
    hash: String,
    /// What runs in its place, or itself.
    text: String,
    text_hash: String,
    /// Whether the server has it.
    loaded: bool,
    /// Whether clients find it there.
    found: bool,
}

impl Scripts {
    /// Gives the server all of them.
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

    /// Which one an `EVALSHA` or `EVAL` of this word calls.
    pub(super) fn find(&self, word: &[u8]) -> Option<usize> {
        self.find.get(std::str::from_utf8(word).ok()?).copied()
    }

    pub(super) fn name(&self, at: usize) -> &'static str {
        self.table[at].name
    }

    /// What the server is to be asked for when a client calls the script by its hash: the hash of
    /// the text that runs or, if the client is not to find that, one of which the server knows no
    /// script.
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

    /// The hash that clients know it by.
    pub(super) fn hash(&self, at: usize) -> &str {
        &self.table[at].hash
    }

    /// Whether clients find it there.
    pub(super) fn is_there(&self, at: usize) -> bool {
        self.table[at].found
    }

    /// A client has run the whole text: the server has it now.
    pub(super) fn came(&mut self, at: usize) {
        let script = &mut self.table[at];
        (script.loaded, script.found) = (true, true);
    }

    /// A client loads it, and finds it from now on.
    pub(super) fn load_again(&mut self, at: usize) {
        self.table[at].found = true;
    }

    /// Clients find none of them any more.
    pub(super) fn flush(&mut self) {
        for script in &mut self.table {
            script.found = false;
        }
    }

    /// The server has none of them any more.
    pub(super) fn lost(&mut self) {
        for script in &mut self.table {
            (script.loaded, script.found) = (false, false);
        }
    }

    /// A new run begins: clients find all of them.
    pub(super) fn renew(&mut self) {
        for script in &mut self.table {
            script.found = true;
        }
    }

    /// The text that the server is to be given before the script is called: it does not have what
    /// a client is to find.
    pub(super) fn settle(&mut self, at: usize) -> Option<&str> {
        let script = &mut self.table[at];
        if script.loaded || !script.found {
            return None;
        }
        script.loaded = true;
        Some(&script.text)
    }
}
