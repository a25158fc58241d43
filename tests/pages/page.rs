//! A page of `docs/`, read as a program: files to write and commands to run, in its order.

use std::{fs, path::Path};

/// A page that leads from an empty folder to a crate of this name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) file: &'static str,
    pub(crate) crate_name: &'static str,
}

/// One code block of the page.
#[derive(Debug)]
pub(crate) enum Step {
    /// A whole file; a later one with the same path replaces it.
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
