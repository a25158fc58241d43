//! How a bug gets into the scripts: a replacement of text in a file of `lua/`.
//!
//! Each replaced text occurs exactly once in its file, or the test fails. So a script that changes
//! cannot quietly lose its bug.

use std::{collections::BTreeMap, fs};

/// A change of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edit {
    /// The path below `queue-redis/lua`, without the extension.
    pub(crate) file: &'static str,
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
}

/// A bug: all its changes.
pub(crate) type Edits = &'static [Edit];

/// The scripts that have this bug, by name; only those whose name ends with `only`.
///
/// # Panics
///
/// If a text does not occur exactly once in its file, or no script has the file in it.
pub(crate) fn with(edits: Edits, only: &str) -> BTreeMap<&'static str, String> {
    let mut files = BTreeMap::<&str, Vec<(String, String)>>::new();
    for Edit {
        file,
        find,
        replace,
    } in edits
    {
        let pieces = files.entry(file).or_insert_with(|| {
            let pieces = pieces(&read(file));
            pieces
                .into_iter()
                .map(|piece| (piece.clone(), piece))
                .collect()
        });
        let found: usize = pieces
            .iter()
            .map(|(_, edited)| edited.matches(find).count())
            .sum();
        assert_eq!(found, 1, "{find:?} in {file}.lua");
        for (_, edited) in pieces {
            *edited = edited.replace(find, replace);
        }
    }
    let mut scripts = BTreeMap::<&str, String>::new();
    for (file, pieces) in &files {
        for (text, edited) in pieces.iter().filter(|(text, edited)| text != edited) {
            let mut found = false;
            for (name, script) in queue_redis::scripts().filter(|(name, _)| name.ends_with(only)) {
                if script.contains(text) {
                    let script = scripts.entry(name).or_insert_with(|| script.to_owned());
                    *script = script.replace(text, edited);
                    found = true;
                }
            }
            assert!(found, "the piece of {file}.lua is in no script: {text}");
        }
    }
    scripts
}

/// The pieces of a file that are in scripts as a whole: its text between includes and beginnings of parts.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("--- @") {
            pieces.push(String::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push_str(line);
        }
    }
    pieces
}

fn read(file: &str) -> String {
    let path = format!(
        "{}/../queue-redis/lua/{file}.lua",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

macro_rules! edits {
    ($($(#[$doc:meta])* $name:ident { $($file:literal: $find:literal => $replace:literal;)+ })+) => {
        $($(#[$doc])* pub(crate) const $name: (&str, Edits) = (stringify!($name), &[
            $(Edit { file: $file, find: $find, replace: $replace }),+
        ]);)+
    };
}
pub(crate) use edits;
