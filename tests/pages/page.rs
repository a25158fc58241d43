//! A page of `docs/`, read as a program: files to write and commands to run, in its order.

use std::{collections::BTreeMap, fs, path::Path};

/// A page that leads from an empty folder to a crate of this name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) file: &'static str,
    pub(crate) crate_name: &'static str,
}

/// One code block of the page.
#[derive(Debug)]
pub(crate) enum Step {
    /// The whole of a file; a later one of the same path takes its place.
    Write { path: String, text: String },
    /// A change to a file, for the next commands only; there may be several.
    Patch { path: String, diff: String },
    /// Lines that begin with `$ ` are commands, the others their output.
    Run(String),
}

impl Page {
    pub(crate) fn steps(self) -> Vec<Step> {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        steps(&fs::read_to_string(docs.join(self.file)).expect("the page"))
    }

    /// Compares the page's final files, except the manifest, with those in this folder.
    pub(crate) fn shows_what_is_tested_in(self, folder: &str) {
        let mut files = BTreeMap::new();
        for step in self.steps() {
            if let Step::Write { path, text } = step {
                files.insert(path, text);
            }
        }
        files.remove("Cargo.toml").expect("the page has a manifest");
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut tested = Vec::new();
        for folder in ["src", "tests"] {
            for entry in fs::read_dir(here.join(folder)).expect("a folder") {
                let name = entry.expect("an entry").file_name();
                tested.push(format!("{folder}/{}", name.to_string_lossy()));
            }
        }
        tested.sort();
        let shown: Vec<&String> = files.keys().collect();
        assert_eq!(shown, tested.iter().collect::<Vec<_>>());
        for (path, shown) in &files {
            let tested = fs::read_to_string(here.join(path)).expect("the file");
            for (number, (shown, tested)) in shown.lines().zip(tested.lines()).enumerate() {
                assert_eq!(
                    shown,
                    tested,
                    "{path}, line {}: the page, and the file",
                    number + 1
                );
            }
            assert_eq!(*shown, tested, "{path}: the page, and the file");
        }
    }
}

/// The page's blocks. The line before a file or a diff is its path in backquotes and a colon.
fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut before = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            if !line.is_empty() {
                before = line;
            }
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let text = block.join("\n") + "\n";
        let path = || {
            let path = before
                .strip_prefix('`')
                .and_then(|path| path.strip_suffix("`:"));
            let path = path.unwrap_or_else(|| panic!("{before:?} names no file"));
            path.to_owned()
        };
        steps.push(match language {
            "rust" | "toml" => Step::Write { path: path(), text },
            "diff" => Step::Patch {
                path: path(),
                diff: text,
            },
            "console" => Step::Run(text),
            // An illustration, which no test can check.
            "text" => continue,
            other => panic!("a block of {other:?}, which nothing checks"),
        });
    }
    steps
}
