//! A Lua script of this backend, put together from files of `lua/`.
//!
//! A file says itself what it needs: the line `--- @include "lib/packs"` stands for the text of `lua/lib/packs.lua`,
//! and `{kind}` in such a line for the script's kind of queue. Each text is in a script once, where it is included
//! first. A line `--- @part "moves"` begins a part of a file, which the name `lib/packs#moves` stands for. Including a
//! part includes the text before the file's first part, too. The line `--- @settings` stands for the list of
//! [`settings`].

use std::{collections::BTreeSet, fmt, ops::Deref, sync::OnceLock};

use crate::settings;

macro_rules! files {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../lua/", $name, ".lua")))),+]
    };
}

/// The files of `lua/`: names and texts.
const FILES: &[(&str, &str)] = files![
    "bounded/capacity" "bounded/push" "bounded/queue" "bounded/recent"
    "delay/next_due" "delay/push" "delay/queue"
    "grouped/change" "grouped/groups" "grouped/push" "grouped/queue"
    "leaks"
    "leasing/counters" "leasing/dead_letters" "leasing/extend" "leasing/fast_acks" "leasing/fast_lease"
    "leasing/find" "leasing/operators" "leasing/peek" "leasing/queues" "leasing/settle" "leasing/settle_and_lease"
    "lib/attachments" "lib/batch_leases" "lib/call" "lib/config" "lib/dead_letters" "lib/distinct" "lib/frames" "lib/limits" "lib/line" "lib/packs"
    "lib/push_options" "lib/reclaim" "lib/results" "lib/slow_push" "lib/sorted_line" "lib/uploads" "lib/wake_up" "lib/writes"
    "list/fast_lease" "list/line" "list/lookup" "list/store"
    "once/store"
    "priority/push" "priority/queue"
    "reliable/push" "reliable/queue"
    "rotating/insert" "rotating/ring" "rotating/rotate"
    "waiting/marker"
];

/// A line of a script: the file or the part that it comes from, and its text.
pub(crate) type Line = (String, &'static str);

/// A script: a `static`, assembled at its first use.
pub(crate) struct Script {
    kind: &'static str,
    verb: &'static str,
    /// The file, or the part, that the script begins with.
    entry: &'static str,
    whole: OnceLock<&'static redis_link::Script>,
}

impl Script {
    /// The script that a verb of queues of this kind calls; `kind` is empty if the script serves every kind.
    pub(crate) const fn new(kind: &'static str, verb: &'static str, entry: &'static str) -> Self {
        Self {
            kind,
            verb,
            entry,
            whole: OnceLock::new(),
        }
    }

    /// The whole script. Its name is its kind and verb; the verb alone if it has no kind.
    pub(crate) fn whole(&self) -> &'static redis_link::Script {
        self.whole.get_or_init(|| {
            let name = format!("{}/{}", self.kind, self.verb);
            let name = name.trim_start_matches('/').to_owned();
            redis_link::Script::new(name, self.lines().iter().map(|(_, text)| *text).collect())
        })
    }

    /// Its lines, with what they include in place of the includes.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let mut expansion = Expansion {
            kind: self.kind,
            included: BTreeSet::new(),
            lines: Vec::new(),
        };
        expansion.include(self.entry);
        expansion.lines
    }
}

struct Expansion {
    kind: &'static str,
    included: BTreeSet<String>,
    lines: Vec<Line>,
}

impl Expansion {
    fn include(&mut self, name: &str) {
        let name = name.replace("{kind}", self.kind);
        if let Some((file, _)) = name.split_once('#') {
            self.include(file);
        }
        if !self.included.insert(name.clone()) {
            return;
        }
        for text in text_of(&name).split_inclusive('\n') {
            match directive(text, "include") {
                Some(included) => self.include(included),
                None if text.trim() == "--- @settings" => {
                    let settings = settings::in_lua().split_inclusive('\n');
                    let settings = settings.map(|line| (name.clone(), line));
                    self.lines.extend(settings);
                }
                None => self.lines.push((name.clone(), text)),
            }
        }
    }
}

/// The name in this line, if it is such a directive.
fn directive<'a>(line: &'a str, what: &str) -> Option<&'a str> {
    let named = line.trim().strip_prefix("--- @")?.strip_prefix(what)?;
    named.strip_prefix(" \"")?.strip_suffix('"')
}

/// The text of a file before its first part, or of a part.
fn text_of(name: &str) -> &'static str {
    let (file, part) = name
        .split_once('#')
        .map_or((name, None), |(file, part)| (file, Some(part)));
    let found = FILES.iter().find(|(known, _)| *known == file);
    let (_, text) = found.unwrap_or_else(|| panic!("there is no lua/{file}.lua"));
    let (mut begins, mut of_part, mut at) = (0, None, 0);
    for line in text.split_inclusive('\n') {
        if let Some(next) = directive(line, "part") {
            if of_part == part {
                return &text[begins..at];
            }
            (begins, of_part) = (at + line.len(), Some(next));
        }
        at += line.len();
    }
    assert_eq!(of_part, part, "lua/{file}.lua has no such part");
    &text[begins..]
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.whole().fmt(f)
    }
}

impl Deref for Script {
    type Target = redis_link::Script;

    fn deref(&self) -> &redis_link::Script {
        self.whole()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn files_below(folder: &Path) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let (path, name) = entry
                .map(|entry| (entry.path(), entry.file_name()))
                .unwrap();
            let name = name.to_string_lossy().into_owned();
            if path.is_dir() {
                let below = files_below(&path);
                files.extend(below.iter().map(|file| format!("{name}/{file}")));
            } else {
                files.insert(name);
            }
        }
        files
    }

    #[test]
    fn the_table_lists_all_files() {
        let there = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("lua"));
        let listed = FILES.iter().map(|(name, _)| format!("{name}.lua"));
        assert_eq!(listed.collect::<BTreeSet<_>>(), there);
    }

    #[test]
    fn each_part_is_in_some_script() {
        let mut included = BTreeSet::new();
        for script in crate::scripts::ALL.iter().chain([&&crate::scripts::LEAKS]) {
            included.extend(script.lines().into_iter().map(|(from, _)| from));
        }
        for (file, text) in FILES {
            let parts = text.lines().filter_map(|line| directive(line, "part"));
            for part in parts {
                let name = format!("{file}#{part}");
                let is_redirect = text_of(&name)
                    .lines()
                    .all(|line| line.trim().is_empty() || directive(line, "include").is_some());
                assert!(is_redirect || included.contains(&name), "{name}");
            }
        }
    }
}
