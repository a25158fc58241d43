//! The scripts of queue-redis, those that stand in for them, and which of them the server has.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
};

use super::socket::Socket;

/// Replaces scripts by others: given a script's name, such as `reliable/turn`, and its text,
/// answers the text that runs in its place.
pub(super) type Replace = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

pub(super) struct Scripts {
    table: Vec<Script>,
    by_hash: BTreeMap<String, usize>,
    by_text: BTreeMap<&'static str, usize>,
}

struct Script {
    name: &'static str,
    hash: String,
    /// What runs in its place, or itself.
    text: String,
    text_hash: String,
    there: There,
}

/// Whether the server has it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    Yes,
    No,
    /// It should have, and is given it before it can be noticed.
    Owed,
}

impl Scripts {
    /// Gives the server all of them.
    pub(super) fn load(socket: &mut Socket, replace: Option<&Replace>) -> io::Result<Self> {
        let mut scripts = Self {
            table: Vec::new(),
            by_hash: BTreeMap::new(),
            by_text: BTreeMap::new(),
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
                there: There::Owed,
            };
            let at = scripts.table.len();
            scripts.by_hash.insert(script.hash.clone(), at);
            scripts.by_text.insert(original, at);
            scripts.table.push(script);
        }
        for at in 0..scripts.table.len() {
            scripts.settle(at, socket)?;
        }
        Ok(scripts)
    }

    /// Which one an `EVALSHA` or `EVAL` of this word calls.
    pub(super) fn find(&self, word: &[u8]) -> Option<usize> {
        let word = std::str::from_utf8(word).ok()?;
        let found = self.by_hash.get(word).or_else(|| self.by_text.get(word));
        found.copied()
    }

    pub(super) fn name(&self, at: usize) -> &'static str {
        self.table[at].name
    }

    /// The text that runs, by its hash.
    pub(super) fn hash_of_text(&self, at: usize) -> &str {
        &self.table[at].text_hash
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
        self.table[at].there != There::No
    }

    /// A client has run the whole text: the server has it now.
    pub(super) fn came(&mut self, at: usize) {
        self.table[at].there = There::Yes;
    }

    /// A client loads it: the server is given it when it is called.
    pub(super) fn owe(&mut self, at: usize) {
        let there = &mut self.table[at].there;
        if *there == There::No {
            *there = There::Owed;
        }
    }

    /// The server has none of them any more.
    pub(super) fn lost(&mut self) {
        for script in &mut self.table {
            script.there = There::No;
        }
    }

    /// A new run begins: the server is to have all of them.
    pub(super) fn owe_all(&mut self) {
        for at in 0..self.table.len() {
            self.owe(at);
        }
    }

    /// Gives the server the script if it is owed.
    pub(super) fn settle(&mut self, at: usize, socket: &mut Socket) -> io::Result<()> {
        let script = &mut self.table[at];
        if script.there != There::Owed {
            return Ok(());
        }
        let reply = socket.ask(&["SCRIPT", "LOAD", &script.text])?;
        if reply.first() == Some(&b'-') {
            let reply = String::from_utf8_lossy(&reply).into_owned();
            return Err(io::Error::new(ErrorKind::InvalidData, reply));
        }
        script.there = There::Yes;
        Ok(())
    }
}
