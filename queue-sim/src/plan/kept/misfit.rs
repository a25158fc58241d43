use std::fmt;

use super::{super::ChoicePoint, Regression};

/// A kept plan whose run passes, but which no longer fits the code: the run never asked for some of
/// its decisions.
///
/// A misfit does not prove a bug. Once somebody has fixed a bug, its run may rightly take another course. But a misfit
/// does not prove the code right either: an outdated plan passes as well, and would seem to protect for ever. Only a
/// person who knows the change can distinguish the two, so the test always reports a misfit. The line grants a number
/// of unmet decisions that are in order; the test reports the plan again only if there are more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    regression: Regression,
    unmet: Vec<ChoicePoint>,
    /// Whether the plan decides nothing in the run any more.
    dead: bool,
}

impl Regression {
    /// The misfit of this plan, if its run passes and never asked for these decisions. `None` if their number is within
    /// the line's grant.
    ///
    /// Parameters allow events, and cause none. So if the run still asks for parameters of a plan, but for none of its
    /// other decisions, the plan shows nothing, even if its line grants more.
    pub fn misfit(&self, unmet: &[ChoicePoint]) -> Option<Misfit> {
        let acts = |point: &ChoicePoint| !point.is_parameter();
        let points: Vec<ChoicePoint> = self.plan.iter().map(|(point, _)| point).collect();
        let all_parameters = !points.iter().any(acts);
        let counts = |point: &&ChoicePoint| all_parameters || acts(point);
        let deciding = points.iter().filter(counts).count();
        let dead = deciding > 0 && unmet.iter().filter(counts).count() == deciding;
        (dead || unmet.len() > self.unmet).then(|| Misfit {
            regression: self.clone(),
            unmet: unmet.to_vec(),
            dead,
        })
    }
}

impl Misfit {
    /// Its place: `file:line`.
    pub fn place(&self) -> String {
        self.regression.place()
    }

    /// The line that replaces this line, if the unmet decisions are in order. `None` if the plan shows nothing any more
    /// and should be deleted.
    pub fn replacement(&self) -> Option<String> {
        let unmet = self.unmet.len();
        let mut granted = self.regression.clone();
        granted.unmet = unmet;
        (!self.dead).then(|| granted.to_string())
    }

    /// Whether it concerns this line of the file.
    pub(super) fn is_of(&self, number: usize, line: &str) -> bool {
        let (file, at) = &self.regression.place;
        *at == number
            && Regression::parse(file, number, line).is_ok_and(|now| now == self.regression)
    }
}

impl fmt::Display for Misfit {
    /// The place, the problem, and the remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            regression, unmet, ..
        } = self;
        write!(f, "{}: a kept plan no longer fits", regression.place())?;
        if !regression.broke.is_empty() {
            write!(f, "; it once broke {}", regression.broke)?;
        }
        let points: Vec<String> = unmet.iter().map(ChoicePoint::to_string).collect();
        write!(
            f,
            "\n  It passes, but {} of its {} decisions were never asked for",
            unmet.len(),
            regression.plan.len(),
        )?;
        if regression.unmet > 0 {
            write!(f, " (the line grants {})", regression.unmet)?;
        }
        write!(f, ":\n  {}.\n", points.join(", "))?;
        match self.replacement() {
            None => f.write_str(
                "  What is left of it is a run in which nothing goes otherwise than usual, and that \
                 shows nothing:\n  delete the line.\n",
            ),
            Some(line) => write!(
                f,
                "  If your change explains that (the bug is mended, and from there the run goes \
                 another way), put\n  this line in its place:\n\n{line}\n\n  If it does not, the \
                 plan is of other code than this, and shows nothing: delete the line.\n"
            ),
        }
    }
}
