//! Which public types may grow: `ARCHITECTURE.md` has the rule.

use std::{fs, path::Path};

/// Answers of the contract's own closed lists.
const ANSWERS: &[&str] = &[
    "Cancelled",
    "Claim",
    "Copies",
    "Extended",
    "Found",
    "Inserted",
    "JobResult",
    "OnceRun",
    "Outcome",
    "Pushed",
    "Rescheduled",
    "Revived",
    "Sent",
    "Settled",
    "Standing",
];

/// Instructions that a backend has to carry out, each in every kind that it opens.
const INSTRUCTIONS: &[&str] = &[
    "Disposition",
    "Due",
    "GroupOrder",
    "OnDeath",
    "Outdated",
    "Place",
    "Removal",
    "Revival",
];

/// Values whose parts the contract fixes.
const PARTS: &[&str] = &["Dedup", "Receipt", "TimeToLive"];

/// The names of the types of a file that others can take apart, and that may not grow.
fn fixed(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").filter_map(|part| {
        let (before, after) = part
            .split_once("\npub struct ")
            .or(part.split_once("\npub enum "))?;
        let is_open = part.contains("\npub enum ") || after.contains("\n    pub ");
        let name = after.split(|end: char| !end.is_alphanumeric()).next()?;
        (is_open && !before.contains("#[non_exhaustive]")).then_some(name)
    })
}

fn read(folder: &Path, texts: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => read(&path, texts),
            false => texts.push(fs::read_to_string(path).expect("a text")),
        }
    }
}

#[test]
fn every_public_type_may_grow_or_is_in_a_closed_list() {
    let mut texts = Vec::new();
    // The verbs are data of which a layer sees all.
    for folder in ["backend", "once", "queue", "typed", "values"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src")
            .join(folder);
        read(&folder, &mut texts);
    }
    let mut found: Vec<&str> = texts.iter().flat_map(|text| fixed(text)).collect();
    found.sort_unstable();
    let mut listed = [ANSWERS, INSTRUCTIONS, PARTS].concat();
    listed.sort_unstable();
    assert_eq!(found, listed);
}
