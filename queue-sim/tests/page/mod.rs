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
enum Step {
    /// The whole of a file; a later one of the same path takes its place.
    Write { path: String, text: String },
    /// A change to a file, for the next commands only; there may be several.
    Patch { path: String, diff: String },
    /// Lines that begin with `$ ` are commands, the others what they print.
    Run(String),
}

impl Page {
    fn steps(self) -> Vec<Step> {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        steps(&fs::read_to_string(docs.join(self.file)).expect("the page"))
    }

    /// Compares the files that the page ends with, but for the manifest, with those in this folder
    /// of `tests`.
    #[allow(
        dead_code,
        reason = "not every page ends with files that are tested here"
    )]
    pub(crate) fn shows_what_is_tested_in(self, folder: &str) {
        let mut files = BTreeMap::new();
        for step in self.steps() {
            if let Step::Write { path, text } = step {
                files.insert(path, text);
            }
        }
        files.remove("Cargo.toml").expect("the page has a manifest");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(folder);
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

    /// Does what the page says, in a folder outside of the workspace. It builds a crate and what
    /// that depends on, so it is for `scripts/test`, and not for every test.
    #[cfg(unix)]
    pub(crate) fn follow(self) {
        following::Folder::new(self.crate_name).follow(&self.steps());
    }
}

/// The page's blocks. The line before a file, or a change to one, is its path in backquotes and a
/// colon.
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
            // A picture, which nothing can check.
            "text" => continue,
            other => panic!("a block of {other:?}, which nothing checks"),
        });
    }
    steps
}

#[cfg(unix)]
mod following {
    use std::{
        fs,
        os::unix::fs::symlink,
        path::{Path, PathBuf},
        process::Command,
    };

    use super::Step;

    /// An empty folder, with the checkout of queue-kit beside it as the page supposes.
    pub(super) struct Folder {
        folder: PathBuf,
        crate_name: &'static str,
    }

    impl Folder {
        pub(super) fn new(crate_name: &'static str) -> Self {
            let name = format!("queue-kit-page-{crate_name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir(&folder).expect("a new folder");
            symlink(workspace(), folder.join("queue-kit")).expect("a link");
            Self { folder, crate_name }
        }

        pub(super) fn follow(&self, steps: &[Step]) {
            let mut changed: Vec<(&String, String)> = Vec::new();
            let mut commands = 0;
            for step in steps {
                match step {
                    Step::Write { path, text } => self.write(path, text),
                    Step::Patch { path, diff } => {
                        let before = self.read(path);
                        self.write(path, &patched(&before, diff));
                        changed.push((path, before));
                    }
                    Step::Run(block) => {
                        commands += self.run(block);
                        while let Some((path, before)) = changed.pop() {
                            self.write(path, &before);
                        }
                    }
                }
            }
            assert!(commands > 3, "{commands} commands");
        }

        fn crate_folder(&self) -> PathBuf {
            self.folder.join(self.crate_name)
        }

        fn read(&self, path: &str) -> String {
            fs::read_to_string(self.crate_folder().join(path)).expect("a file of the page")
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.crate_folder().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("writes");
        }

        /// Runs the commands of a block, and finds what the page says that they print.
        fn run(&self, block: &str) -> usize {
            let mut count = 0;
            for command in block.split("$ ").filter(|command| !command.is_empty()) {
                let (command, prints) = command.split_once('\n').expect("ends its line");
                count += 1;
                let inside = self.crate_folder();
                let folder = if inside.exists() {
                    &inside
                } else {
                    &self.folder
                };
                let (printed, passed) = shell(command, folder);
                let shown = format!("$ {command}\n{printed}");
                assert_eq!(passed, !prints.contains("FAILED"), "{shown}");
                let mut rest = printed.as_str();
                for part in prints.split(['\n', '…']).map(str::trim) {
                    let found = rest.find(part);
                    let found = found.unwrap_or_else(|| panic!("no {part:?} in {shown}"));
                    rest = &rest[found + part.len()..];
                }
            }
            count
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // What failed is kept for a look.
            if !std::thread::panicking() {
                fs::remove_dir_all(&self.folder).ok();
            }
        }
    }

    fn workspace() -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        root.canonicalize().expect("the workspace")
    }

    /// Runs a command with the versions that the workspace has, so that nothing is downloaded.
    fn shell(command: &str, folder: &Path) -> (String, bool) {
        if folder.join("Cargo.toml").exists() && !folder.join("Cargo.lock").exists() {
            fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).expect("copies");
        }
        let output = Command::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(folder)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env(
                "CARGO_TARGET_DIR",
                concat!(env!("CARGO_TARGET_TMPDIR"), "/pages"),
            )
            .env("CARGO_TERM_COLOR", "never")
            .env_remove("RUST_BACKTRACE")
            .output()
            .expect("there is a shell");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        (printed, output.status.success())
    }

    /// The text with the lines that the diff takes out replaced by those that it puts in.
    fn patched(text: &str, diff: &str) -> String {
        let part = |sign: char| -> String {
            let lines = diff.lines().filter_map(|line| line.strip_prefix(sign));
            lines.map(|line| format!("{line}\n")).collect()
        };
        let (old, new) = (part('-'), part('+'));
        assert_eq!(text.matches(&old).count(), 1, "{old:?} is there once");
        text.replace(&old, &new)
    }
}
