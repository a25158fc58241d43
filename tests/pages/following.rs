//! Follows a page, in a folder outside of the workspace.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::page::{Page, Step};

/// The packages that the workspace optimises, that cargo builds for the pages alone, and that no page runs for
/// long: optimising them would take longer than it saves.
const UNOPTIMISED: [&str; 2] = ["queue-redis", "redis"];

/// The workspace's settings for builds of other packages. With them, cargo builds packages with the same
/// features only once.
fn settings() -> String {
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).expect("the manifest");
    let (_, settings) = manifest.split_once("[profile.dev]\n").expect("a profile");
    let (settings, _) = settings.split_once("\n[package]\n").expect("its end");
    let unoptimised = |line: &str| {
        let package = line.strip_suffix(".opt-level = 1");
        package.is_some_and(|package| UNOPTIMISED.contains(&package))
    };
    let mut lines = vec!["[profile.dev]".to_owned()];
    lines.extend(
        settings
            .lines()
            .filter(|line| !unoptimised(line))
            .map(str::to_owned),
    );
    lines.extend(UNOPTIMISED.map(|package| format!("{package}.opt-level = 0")));
    lines.join("\n")
}

/// An empty folder with a checkout of queue-kit in it, as the pages suppose. The pages share the
/// folder, and so the build of queue-kit: to cargo, packages in another place are other packages.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let name = format!("queue-kit-pages-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a new folder");
        symlink(workspace(), folder.join("queue-kit")).expect("a link");
        fs::create_dir(folder.join(".cargo")).expect("a folder");
        fs::write(folder.join(".cargo/config.toml"), settings()).expect("writes");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn follow(&self, page: Page) {
        Crate {
            beside: &self.0,
            folder: self.0.join(page.crate_name),
        }
        .follow(&page.steps());
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // After a failure, the folder stays, so that a person can inspect it.
        if !std::thread::panicking() {
            fs::remove_dir_all(&self.0).ok();
        }
    }
}

/// Ends the server that a page started and did not end, because it failed before.
impl Drop for Crate<'_> {
    fn drop(&mut self) {
        if self.folder.exists() {
            shell(
                "[ ! -f redis.pid ] || kill \"$(cat redis.pid)\"",
                &self.folder,
            );
        }
    }
}

/// The crate that a page builds. Its first command creates it.
struct Crate<'a> {
    beside: &'a Path,
    folder: PathBuf,
}

impl Crate<'_> {
    fn follow(&self, steps: &[Step]) {
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

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).expect("a file of the page")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("writes");
    }

    /// Runs the commands of a block, and checks for the output that the page shows.
    fn run(&self, block: &str) -> usize {
        let mut count = 0;
        for command in block.split("$ ").filter(|command| !command.is_empty()) {
            let (command, prints) = command.split_once('\n').expect("ends its line");
            count += 1;
            let folder = if self.folder.exists() {
                &self.folder
            } else {
                self.beside
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

fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.canonicalize().expect("the workspace")
}

/// Runs a command with the workspace's locked versions, so that it downloads nothing, and in the folder
/// where the workspace is built.
pub(crate) fn shell(command: &str, folder: &Path) -> (String, bool) {
    if folder.join("Cargo.toml").exists() && !folder.join("Cargo.lock").exists() {
        fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).expect("copies");
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let built = built.expect("cargo's folder for tests is in its target folder");
    let output = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .current_dir(folder)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TARGET_DIR", built)
        .env("CARGO_TERM_COLOR", "never")
        .env_remove("RUST_BACKTRACE")
        .output()
        .expect("there is a shell");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    (printed, output.status.success())
}

/// Applies a diff: replaces the lines that it removes by those that it adds.
fn patched(text: &str, diff: &str) -> String {
    let part = |sign: char| -> String {
        let lines = diff.lines().filter_map(|line| line.strip_prefix(sign));
        lines.map(|line| format!("{line}\n")).collect()
    };
    let (old, new) = (part('-'), part('+'));
    assert_eq!(text.matches(&old).count(), 1, "{old:?} is there once");
    text.replace(&old, &new)
}
