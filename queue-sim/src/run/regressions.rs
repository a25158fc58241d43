use std::{
    fmt::{self, Write},
    fs, io,
    path::{Path, PathBuf},
};

use queue_core::QueueKind;

use super::{Replayed, Runs};
use crate::{check::Verdict, plan::Plan};

const HEAD: &str = "\
# Plans that broke a rule once: the rule, then the plan. Whoever plays many runs plays these first.
# They are added when a run fails. Check them in with what mends it.
";

/// The file of plans that broke a rule once, of one kind of queue on one backend.
#[derive(Debug, Clone)]
pub struct Regressions(PathBuf);

/// A plan of that file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regression {
    /// The rule that it broke.
    pub rule: String,
    /// How many of its decisions nobody asks for, now that the bug is mended: without it, a run
    /// may take another course. `unmet=2` in the file, after the rule.
    pub unmet: usize,
    /// What was decided.
    pub plan: Plan,
}

/// Why a kept plan does not pass.
#[derive(Debug)]
pub enum Relapse {
    /// It breaks a rule, the same again or another.
    Broken(Box<Replayed>),
    /// The checks ran out of their budget.
    Inconclusive,
    /// More of its decisions than when it was kept are never asked for: it is a plan of other code,
    /// and says nothing of this.
    Stale(Vec<crate::plan::Site>),
}

impl Regressions {
    /// The file in this folder.
    pub fn of(folder: &Path, kind: QueueKind, backend: &str) -> Self {
        Self(folder.join(format!("{kind}-{backend}.txt")))
    }

    /// The plans that are kept; none if there is no file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line of it is no plan: the error names the line.
    pub fn read(&self) -> io::Result<Vec<Regression>> {
        let text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut kept = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let regression = parse(line).map_err(|wrong| {
                let place = format!("{}, line {}", self.0.display(), index + 1);
                io::Error::new(io::ErrorKind::InvalidData, format!("{place}: {wrong}"))
            })?;
            kept.push(regression);
        }
        Ok(kept)
    }

    /// Adds a plan, unless it is there.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn keep(&self, rule: &str, plan: &Plan) -> io::Result<()> {
        if self.read()?.iter().any(|kept| kept.plan == *plan) {
            return Ok(());
        }
        let mut text = match fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => HEAD.to_owned(),
            Err(error) => return Err(error),
        };
        let _ = writeln!(text, "{rule} {plan}");
        if let Some(folder) = self.0.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.0, text)
    }
}

impl fmt::Display for Regressions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

fn parse(line: &str) -> Result<Regression, String> {
    let mut words = line.split_whitespace();
    let (Some(rule), Some(mut next)) = (words.next(), words.next()) else {
        return Err("not a rule and a plan".to_owned());
    };
    let mut unmet = 0;
    if let Some(number) = next.strip_prefix("unmet=") {
        let wrong = |_| format!("{next}: not a number");
        unmet = number.parse().map_err(wrong)?;
        next = words.next().ok_or("there is no plan")?;
    }
    let plan = next
        .parse()
        .map_err(|wrong: crate::plan::PlanError| wrong.to_string())?;
    match words.next() {
        Some(surplus) => Err(format!("{surplus:?} is one word too many")),
        None => Ok(Regression {
            rule: rule.to_owned(),
            unmet,
            plan,
        }),
    }
}

impl Regression {
    /// Plays the plan again.
    ///
    /// # Errors
    ///
    /// It does not pass, and why.
    pub fn replay(&self, runs: &mut Runs<'_>) -> Result<(), Relapse> {
        let replayed = runs.plan(&self.plan);
        match replayed.verdict {
            Verdict::Broken(_) => Err(Relapse::Broken(Box::new(replayed))),
            Verdict::Inconclusive => Err(Relapse::Inconclusive),
            Verdict::Holds if replayed.unmet.len() > self.unmet => {
                Err(Relapse::Stale(replayed.unmet))
            }
            Verdict::Holds => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_kept() {
        let plan: Plan = "v1:1.0.verb=3".parse().unwrap();
        let kept = |unmet| Regression {
            rule: "L4".to_owned(),
            unmet,
            plan: plan.clone(),
        };
        assert_eq!(parse("L4 v1:1.0.verb=3"), Ok(kept(0)));
        assert_eq!(parse("L4 unmet=2 v1:1.0.verb=3"), Ok(kept(2)));
        for wrong in ["L4", "L4 unmet=2", "L4 unmet=x v1:", "L4 v2:", "L4 v1: v1:"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
