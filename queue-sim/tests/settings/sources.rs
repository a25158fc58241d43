//! The public functions in the sources that take a duration or a count.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The folders with settings for users. The recipes have a table of their own.
const FOLDERS: [&str; 7] = [
    "src",
    "queue-core/src",
    "queue-worker/src",
    "queue-memory/src",
    "queue-redis/src",
    "queue-schedule/src",
    "queue-sim/src/sim",
];
const LEFT_OUT: &str = "queue-redis/src/recipes";

const TYPES: [&str; 7] = [
    "Duration",
    "Due",
    "SystemTime",
    "u16",
    "u32",
    "u64",
    "usize",
];

/// A function in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting {
    file: String,
    name: String,
}

impl Setting {
    pub(crate) fn new(file: &str, name: &str) -> Self {
        Self {
            file: file.to_owned(),
            name: name.to_owned(),
        }
    }
}

pub(crate) fn settings() -> BTreeSet<Setting> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut settings = BTreeSet::new();
    for folder in FOLDERS {
        let before = settings.len();
        read(&root, Path::new(folder), &mut settings);
        let none = matches!(folder, "src" | "queue-memory/src");
        assert!(none || settings.len() > before, "no setting in {folder}");
    }
    settings
}

fn read(root: &Path, folder: &Path, settings: &mut BTreeSet<Setting>) {
    if folder == Path::new(LEFT_OUT) {
        return;
    }
    let entries = fs::read_dir(root.join(folder)).expect("a folder of sources");
    for entry in entries {
        let name = entry.expect("an entry").file_name();
        let path: PathBuf = folder.join(name);
        if root.join(&path).is_dir() {
            read(root, &path, settings);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(root.join(&path)).expect("a source");
            let file = path.to_string_lossy();
            settings.extend(taking(&text).map(|name| Setting::new(&file, name)));
        }
    }
}

/// The public functions of this text that take such a value, outside of its tests.
fn taking(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
    let publics = text.split("\n").scan(0, |end, line| {
        let start = *end;
        *end += line.len() + 1;
        Some((start, line.trim_start()))
    });
    let functions = publics.filter_map(|(start, line)| {
        let rest = line.strip_prefix("pub ")?;
        let rest = rest
            .trim_start_matches("const ")
            .trim_start_matches("async ");
        rest.strip_prefix("fn ")?;
        let from = &text[start..];
        let signature = &from[from.find("fn ")? + 3..];
        let name = signature.split(['(', '<']).next()?;
        Some((name, parameters(&signature[name.len()..])?))
    });
    functions.filter_map(|(name, parameters)| takes(parameters).then_some(name))
}

/// The text between the parentheses after the generic parameters.
fn parameters(signature: &str) -> Option<&str> {
    let (mut angles, mut rounds, mut start, mut before) = (0, 0, None, ' ');
    for (at, c) in signature.char_indices() {
        match c {
            '<' if start.is_none() => angles += 1,
            '>' if start.is_none() && before != '-' => angles -= 1,
            '(' if angles == 0 => {
                rounds += 1;
                start.get_or_insert(at);
            }
            ')' if angles == 0 => {
                rounds -= 1;
                if rounds == 0 {
                    return Some(&signature[start?..=at]);
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

fn takes(parameters: &str) -> bool {
    let words = parameters.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut words = words.filter(|word| !word.is_empty());
    words.any(|word| TYPES.contains(&word) || word.starts_with("NonZero"))
}

#[test]
fn a_setting_is_found_behind_generic_parameters_and_over_lines() {
    let text = "
        pub fn plain(self, time: Duration) -> Self {}
        pub(crate) fn inner(self, time: Duration) -> Self {}
        pub const fn none(self, name: &str) -> u64 {}
        pub async fn wait<F: Fn(u8) -> G, G>(
            self,
            many: Vec<(T, usize)>,
        ) -> Self {}
        fn private(time: Duration) {}
#[cfg(test)]
mod tests {
    pub fn helper(time: Duration) {}
";
    assert_eq!(taking(text).collect::<Vec<_>>(), ["plain", "wait"]);
}
