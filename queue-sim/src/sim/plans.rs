//! Plans that failed once, kept beside the test and played first next time.

use std::{
    env, fs,
    io::{self, Write},
    path::PathBuf,
};

use super::check::Finding;
use crate::plan::Plan;

const FOLDER: &str = "sim-regressions";
const PREAMBLE: &str =
    "# Plans of runs that failed once. They are played first; keep them in version control.\n";

/// The file of a simulation's plans.
pub(super) struct Plans(Option<PathBuf>);

/// A plan that failed once.
pub(super) struct Kept {
    pub(super) plan: Plan,
    pub(super) file: String,
}

impl Plans {
    /// Those of the simulation of this name, in the crate under test. Outside of cargo there are
    /// none.
    pub(super) fn of(name: &str) -> Self {
        let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let file: String = name.chars().map(safe).collect();
        Self(folder.map(|folder| folder.join(FOLDER).join(file + ".txt")))
    }

    pub(super) fn read(&self) -> Vec<Kept> {
        let Some(path) = &self.0 else {
            return Vec::new();
        };
        let Ok(text) = fs::read_to_string(path) else {
            return Vec::new();
        };
        let lines = text.lines().map(str::trim);
        let plans = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        plans
            .map(|line| Kept {
                plan: line.parse().unwrap_or_else(|error| {
                    panic!("{}: {error}: {line:?}", path.display());
                }),
                file: path.display().to_string(),
            })
            .collect()
    }

    /// Keeps a plan, unless it is there.
    pub(super) fn keep(&self, plan: &Plan, finding: &Finding) {
        let known = self.read().iter().any(|kept| kept.plan == *plan);
        let Some(path) = self.0.as_ref().filter(|_| !known) else {
            return;
        };
        let written = || -> io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let fresh = !path.exists();
            let mut file = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)?;
            if fresh {
                file.write_all(PREAMBLE.as_bytes())?;
            }
            let why = finding.to_string().replace('\n', " ");
            writeln!(file, "\n# {why}\n{plan}")
        };
        if let Err(error) = written() {
            eprintln!("the plan could not be kept in {}: {error}", path.display());
        }
    }
}
