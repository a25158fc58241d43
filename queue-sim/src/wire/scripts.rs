//! The scripts of queue-redis, their replacements, and the scripts that the server has.

use std::{borrow::Cow, collections::HashMap, io, sync::LazyLock};

use super::{resp::accepted, socket::Socket};

/// Replaces scripts: it gets a script's name, such as `reliable/settle_and_lease`, and its text. It returns the text
/// that runs in its place.
pub(super) type Replace = dyn Fn(&str, &str) -> Option<String> + Send + Sync;

/// A script of queue-redis.
struct Original {
    name: &'static str,
    text: &'static str,
    hash: String,
}

static ORIGINALS: LazyLock<Vec<Original>> = LazyLock::new(|| {
    let original = |(name, text)| Original {
        name,
        text,
        hash: hash(text),
    };
    queue_redis::scripts().map(original).collect()
});

/// The positions of the originals, by hash and by text. Nothing iterates over it, since its order
/// is random.
static POSITIONS: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
    let words =
        |(at, original): (usize, &'static Original)| [(&*original.hash, at), (original.text, at)];
    ORIGINALS.iter().enumerate().flat_map(words).collect()
});

pub(super) fn hash(text: &str) -> String {
    redis::Script::new(text).get_hash().to_owned()
}

pub(super) struct Scripts(Vec<KnownScript>);

/// No text has this hash.
const OF_NO_SCRIPT: &str = "0000000000000000000000000000000000000000";

struct KnownScript {
    original: &'static Original,
    /// The text that runs: the script's own, or its replacement.
    text: Cow<'static, str>,
    text_hash: Cow<'static, str>,
    /// Whether the server has it.
    loaded: bool,
    /// Whether clients find it there.
    found: bool,
}

impl Scripts {
    /// As if the server had all scripts. The server gets each script right before its first call. It gets the
    /// replacements at once, so that the caller learns here of a replacement that the server refuses.
    pub(super) fn load(socket: &mut Socket, replace: Option<&Replace>) -> io::Result<Self> {
        let mut scripts = Vec::new();
        for original in &*ORIGINALS {
            let replaced = replace.and_then(|replace| replace(original.name, original.text));
            if let Some(text) = &replaced {
                accepted(&socket.ask(&["SCRIPT", "LOAD", text])?)?;
            }
            scripts.push(KnownScript {
                original,
                loaded: replaced.is_some(),
                found: true,
                text_hash: match &replaced {
                    Some(text) => hash(text).into(),
                    None => (&*original.hash).into(),
                },
                text: replaced.map_or(original.text.into(), Cow::from),
            });
        }
        Ok(Self(scripts))
    }

    /// The position of the script that an `EVALSHA` or `EVAL` of this word calls.
    pub(super) fn find(&self, word: &[u8]) -> Option<usize> {
        POSITIONS.get(std::str::from_utf8(word).ok()?).copied()
    }

    pub(super) fn name(&self, at: usize) -> &'static str {
        self.0[at].original.name
    }

    /// The hash that the wire calls on the server when a client calls the script by its hash. It is the hash of the
    /// text that runs, or a hash of no script if the client must not find it.
    pub(super) fn called(&self, at: usize) -> &str {
        let script = &self.0[at];
        if script.found {
            &script.text_hash
        } else {
            OF_NO_SCRIPT
        }
    }

    /// The hash of the text that runs.
    pub(super) fn text_hash(&self, at: usize) -> &str {
        &self.0[at].text_hash
    }

    /// The hash by which clients know it.
    pub(super) fn hash(&self, at: usize) -> &str {
        &self.0[at].original.hash
    }

    /// Whether clients find it there.
    pub(super) fn is_there(&self, at: usize) -> bool {
        self.0[at].found
    }

    /// Notes that a client has brought the whole text, and finds it from now on.
    pub(super) fn came(&mut self, at: usize) {
        self.0[at].found = true;
    }

    /// From now on clients find no script.
    pub(super) fn flush(&mut self) {
        for script in &mut self.0 {
            script.found = false;
        }
    }

    /// From now on the server has no script.
    pub(super) fn lost(&mut self) {
        for script in &mut self.0 {
            (script.loaded, script.found) = (false, false);
        }
    }

    /// Begins a new run: clients find all scripts.
    pub(super) fn renew(&mut self) {
        for script in &mut self.0 {
            script.found = true;
        }
    }

    /// The text that the server needs before a call of the script, unless it has it.
    pub(super) fn missing(&mut self, at: usize) -> Option<&str> {
        let script = &mut self.0[at];
        let was_loaded = std::mem::replace(&mut script.loaded, true);
        (!was_loaded).then_some(&*script.text)
    }
}
