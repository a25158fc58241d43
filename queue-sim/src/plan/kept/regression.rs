use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::Plan;

/// The most characters of the failure in a line; the history view has the rest.
const BROKE_CHARS: usize = 120;

/// A plan that failed once, as a line of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regression {
    /// The failure: a rule's number, or the first line of a finding. Empty for a plan that a person
    /// added alone.
    pub broke: String,
    /// The number of its decisions that no run asks for any more, and that a person has found to be
    /// in order.
    pub unmet: usize,
    /// The decisions.
    pub plan: Plan,
    /// The file and the line's number, from 1.
    pub(super) place: (PathBuf, usize),
}

impl Regression {
    /// A new line for this file.
    pub(super) fn new(file: &Path, broke: &str, plan: Plan) -> Self {
        let broke = broke.lines().next().unwrap_or_default();
        // A line with this beginning would be a comment.
        let broke = broke.trim_start_matches(['#', ' ', '\t']).trim_end();
        Self {
            broke: broke.chars().take(BROKE_CHARS).collect(),
            unmet: 0,
            plan,
            place: (file.to_owned(), 0),
        }
    }

    pub(super) fn parse(file: &Path, number: usize, line: &str) -> Result<Self, String> {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let last = words.pop().unwrap_or_default();
        let plan = last.parse().map_err(|wrong| format!("{last:?}: {wrong}"))?;
        let mut unmet = 0;
        let granted = words.last().and_then(|word| word.strip_prefix("unmet="));
        if let Some(number) = granted {
            let wrong = |_| format!("unmet={number}: not a number");
            unmet = number.parse().map_err(wrong)?;
            words.pop();
        }
        if words.iter().any(|word| word.parse::<Plan>().is_ok()) {
            return Err("two plans in one line".to_owned());
        }
        Ok(Self {
            broke: words.join(" "),
            unmet,
            plan,
            place: (file.to_owned(), number),
        })
    }

    /// Its place: `file:line`.
    pub fn place(&self) -> String {
        let (file, line) = &self.place;
        format!("{}:{line}", file.display())
    }
}

impl fmt::Display for Regression {
    /// The line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            broke, unmet, plan, ..
        } = self;
        if !broke.is_empty() {
            write!(f, "{broke} ")?;
        }
        if *unmet > 0 {
            write!(f, "unmet={unmet} ")?;
        }
        plan.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ChoicePoint;

    fn read(line: &str) -> Result<Regression, String> {
        Regression::parse(Path::new("kept.txt"), 3, line)
    }

    #[test]
    fn lines_are_read_as_they_are_kept() {
        for line in [
            "L4 v1:1.0.verb=3",
            "L4 unmet=2 v1:1.0.verb=3",
            "effects exactly once: refund 1 happened 2 times unmet=1 v1:1.0.verb=3,2.0.pick=1",
            "v1:1.0.verb=3",
            "panic v1:",
        ] {
            assert_eq!(read(line).expect("a plan").to_string(), line);
        }
        let kept = read("a long name unmet=2 v1:1.0.verb=3").expect("a plan");
        assert_eq!((&*kept.broke, kept.unmet), ("a long name", 2));
        assert_eq!(kept.place(), "kept.txt:3");
    }

    #[test]
    fn malformed_lines_are_refused() {
        for wrong in ["L4", "L4 unmet=2", "L4 unmet=x v1:", "L4 v2:", "L4 v1: v1:"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn any_broken_rule_is_written_as_one_readable_line() {
        let long = "x".repeat(500);
        let plan: Plan = "v1:1.0.verb=3".parse().expect("a plan");
        for broke in ["#42 once:\nleft 1\nright 2", "", "# ", &long] {
            let line = Regression::new(Path::new("kept.txt"), broke, plan.clone()).to_string();
            assert!(!line.contains('\n') && !line.starts_with('#'), "{line}");
            assert_eq!(read(&line).expect("a plan").plan, plan, "{line}");
        }
    }

    #[test]
    fn a_plan_fits_as_long_as_no_more_is_unmet_than_its_line_grants() {
        let kept = read("L4 unmet=1 v1:0.1.parameter=2,1.0.verb=3,2.0.pick=1").expect("a plan");
        let points: Vec<ChoicePoint> = kept.plan.iter().map(|(point, _)| point).collect();
        assert_eq!(kept.misfit(&[]), None);
        assert_eq!(kept.misfit(&points[1..2]), None);
        let misfit = kept.misfit(&points[..2]).expect("one more");
        let replacement = "L4 unmet=2 v1:0.1.parameter=2,1.0.verb=3,2.0.pick=1";
        assert_eq!(misfit.replacement().as_deref(), Some(replacement));
        let text = misfit.to_string();
        for part in [
            "kept.txt:3",
            "2 of its 3",
            replacement,
            "0.1.parameter",
            "delete",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }

    #[test]
    fn a_plan_that_nothing_is_left_of_cannot_be_granted() {
        let kept = read("L4 unmet=3 v1:0.1.parameter=2,1.0.verb=3,2.0.pick=1").expect("a plan");
        let points: Vec<ChoicePoint> = kept.plan.iter().map(|(point, _)| point).collect();
        for unmet in [&points[..], &points[1..]] {
            let misfit = kept.misfit(unmet).expect("it is dead");
            assert_eq!(misfit.replacement(), None);
            assert!(misfit.to_string().contains("delete the line"), "{misfit}");
        }
        // A plan of parameters alone fits if the run meets them.
        let kept = read("L4 unmet=1 v1:0.1.parameter=2,0.2.parameter=3").expect("a plan");
        let points: Vec<ChoicePoint> = kept.plan.iter().map(|(point, _)| point).collect();
        assert_eq!(kept.misfit(&points[..1]), None);
        assert_eq!(kept.misfit(&points).and_then(|it| it.replacement()), None);
        // The simplest run of all always fits.
        assert_eq!(read("L4 v1:").expect("a plan").misfit(&[]), None);
    }
}
