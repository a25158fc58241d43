//! Plans that failed once, in files beside the tests.

mod misfit;
mod regression;

use std::{
    fmt,
    fs::{self, OpenOptions},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
};

pub use self::{misfit::Misfit, regression::Regression};
use super::Plan;

const HEAD: &str = "\
# Plans of runs that broke something once: what they broke, then the plan. They are played before
# anything else. They are added when a run fails: check them in with what mends it.
";

/// A file of plans that failed once, for one name and one backend. Each line is `broken-rule v1:…`. After the rule may
/// come `unmet=2`, the number of the plan's decisions that the run no longer asks for ([`Misfit`] says why). Lines that
/// begin with `#`, and empty ones, are for people.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// use queue_sim::plan::Regressions;
///
/// # let folder = std::env::temp_dir().join(format!("regressions-{}", std::process::id()));
/// let file = Regressions::of(&folder, "order timeouts", "memory");
/// file.keep("L4", &"v1:1.0.verb=3".parse().unwrap())?;
/// let kept = file.read()?;
/// assert_eq!(kept[0].to_string(), "L4 v1:1.0.verb=3");
/// # std::fs::remove_dir_all(&folder)
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Regressions(PathBuf);

impl Regressions {
    /// The file in this folder: `order_timeouts.memory.txt` for `order timeouts` on memory. Two names never share a
    /// file, if the file system distinguishes capitals from small letters.
    pub fn of(folder: &Path, name: &str, backend: &str) -> Self {
        Self(folder.join(format!("{}.{}.txt", for_a_file(name), for_a_file(backend))))
    }

    /// Reads the kept plans, in the order of the file; none if there is no file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line of it is not a plan. The error names the file and the
    /// line.
    pub fn read(&self) -> io::Result<Vec<Regression>> {
        let text = self.text()?.unwrap_or_default();
        let mut kept = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let regression = Regression::parse(&self.0, index + 1, line).map_err(|wrong| {
                let place = format!("{self}:{}", index + 1);
                io::Error::new(
                    ErrorKind::InvalidData,
                    format!(
                        "{place}: {wrong}: take the line out, or write what it broke, then the plan"
                    ),
                )
            })?;
            kept.push(regression);
        }
        Ok(kept)
    }

    /// Adds a plan, unless the file has it.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written. The error names it.
    pub fn keep(&self, broke: &str, plan: &Plan) -> io::Result<()> {
        if self.read()?.iter().any(|kept| kept.plan == *plan) {
            return Ok(());
        }
        let mut added = match self.text()? {
            None => HEAD.to_owned(),
            Some(text) if text.is_empty() || text.ends_with('\n') => String::new(),
            Some(_) => "\n".to_owned(),
        };
        let line = Regression::new(&self.0, broke, plan.clone());
        added.push_str(&format!("{line}\n"));
        let written = || -> io::Result<()> {
            if let Some(folder) = self.0.parent() {
                fs::create_dir_all(folder)?;
            }
            // One write, at the end, since another test may add to the same file.
            let mut file = OpenOptions::new().create(true).append(true).open(&self.0)?;
            file.write_all(added.as_bytes())
        };
        written().map_err(|error| self.named(&error))
    }

    /// Applies each [`Misfit`]'s remedy to its line: replaces the line, or removes it. All other lines stay as they
    /// are, and so does a line that has changed since it was read.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written. The error names it.
    pub fn update(&self, misfits: &[Misfit]) -> io::Result<()> {
        let text = self.text()?.unwrap_or_default();
        let mut updated = String::new();
        for (index, line) in text.lines().enumerate() {
            let misfit = misfits.iter().find(|misfit| misfit.is_of(index + 1, line));
            let line = misfit.map_or(Some(line.to_owned()), Misfit::replacement);
            if let Some(line) = line {
                updated.push_str(&line);
                updated.push('\n');
            }
        }
        fs::write(&self.0, updated).map_err(|error| self.named(&error))
    }

    fn text(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.named(&error)),
        }
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{self}: {error}"))
    }
}

impl fmt::Display for Regressions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// Makes a file name that every file system takes, and that no other name becomes.
fn for_a_file(name: &str) -> String {
    let mut safe = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => safe.push(char::from(byte)),
            b' ' => safe.push('_'),
            _ => safe.push_str(&format!("%{byte:02x}")),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_share_a_file() {
        let names = ["a b", "a-b", "a_b", "a.b", "a/b", "a%20b", "ab", "ä", ""];
        let files: Vec<_> = names.iter().map(|name| for_a_file(name)).collect();
        assert_eq!(files[0], "a_b");
        assert_eq!(files[1], "a-b");
        for (index, file) in files.iter().enumerate() {
            assert!(!file.contains(['/', '.', ' ']), "{file}");
            assert!(!files[..index].contains(file), "{file} twice");
        }
    }
}
